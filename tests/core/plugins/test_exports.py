"""Public names of a package come from its plugin, and are imported on first use."""

import sys
from pathlib import Path
from types import ModuleType

import pytest
from curator_core.plugins.exports import exports_of, lazy_exports


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The plugin of a package with a stage, a workflow and a base class."""
    (tmp_path / "shout_stages.py").write_text("class Upper: pass\nclass Base: pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    module = ModuleType("shout.plugin")
    vars(module).update(
        curator_stages=lambda: {"shout.upper": "shout_stages:Upper"},
        curator_commands=lambda: {"shout.loudly": "shout_commands:loudly"},
        EXPORTS={"shout_stages": ("Base",)},
    )
    return module


def test_registered_and_listed_names_are_exported(plugin: ModuleType) -> None:
    assert exports_of(plugin) == {"Base": "shout_stages", "Upper": "shout_stages"}


def test_a_name_is_imported_on_first_use(plugin: ModuleType) -> None:
    names, load, listed = lazy_exports("shout", plugin)
    assert names == listed() == ["Base", "Upper"]
    assert "shout_stages" not in sys.modules
    assert load("Upper").__module__ == "shout_stages"


def test_an_unknown_name_is_an_attribute_error(plugin: ModuleType) -> None:
    _, load, _ = lazy_exports("shout", plugin)
    with pytest.raises(AttributeError, match="'shout' has no attribute 'Uper'"):
        load("Uper")


def test_a_package_without_plugin_lists_its_names() -> None:
    assert exports_of({"pathlib": ("Path",)}) == {"Path": "pathlib"}
