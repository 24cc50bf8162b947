"""The extra `torch`, which models need; reading, measuring and writing do not."""

from curator_core.model.optional_dependencies import not_installed


def torch_problem(what: str) -> str | None:
    """Return a message with the install command if `what` needs torch and it is missing."""
    return not_installed(what, ["torch"], "pip install 'curator-audio[torch]'")
