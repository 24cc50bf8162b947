"""Messages about libraries that are not installed."""

from importlib.util import find_spec

import pytest
from curator_core import DocumentBatch
from curator_core.errors import CuratorError
from curator_core.model import optional_dependencies
from curator_core.model.optional_dependencies import not_installed
from curator_core.run.result import RunResult


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


@pytest.mark.parametrize(
    "table", [RunResult(), DocumentBatch.from_pylist([{"text": "one"}])], ids=["result", "batch"]
)
def test_data_frames_say_what_to_install(
    table: RunResult | DocumentBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hide_pandas(name: str) -> object:
        return None if name == "pandas" else find_spec(name)

    monkeypatch.setattr(optional_dependencies, "find_spec", hide_pandas)
    with pytest.raises(CuratorError, match=r"pandas.*not installed: pip install pandas") as error:
        table.to_pandas()
    assert isinstance(error.value, ImportError)
    assert len(str(error.value).splitlines()) == 1
