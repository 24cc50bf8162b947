"""The extra `torch`: models run on it; reading, measuring and writing recordings do without."""

from curator_core.model.optional_dependencies import not_installed


def torch_problem(what: str) -> str | None:
    """What to install before `what` can run; None where torch is there."""
    return not_installed(what, ["torch"], "pip install 'curator-audio[torch]'")
