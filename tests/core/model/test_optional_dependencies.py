"""Messages about libraries that are not installed."""

import pytest
from curator_core.model.optional_dependencies import not_installed


@pytest.mark.parametrize(
    ("modules", "message"),
    [
        (["no_a"], "it needs no_a, which is not installed: pip it"),
        (["json", "no_a.b"], "it needs no_a.b, which is not installed: pip it"),
        (["no_a", "no_b"], "it needs no_a and no_b, which are not installed: pip it"),
        (["no_a", "no_b", "no_c"], "it needs no_a, no_b and no_c, which are not installed: pip it"),
        (["json", "os.path"], None),
        ([], None),
    ],
)
def test_missing_modules_are_named(modules: list[str], message: str | None) -> None:
    assert not_installed("it", modules, "pip it") == message
