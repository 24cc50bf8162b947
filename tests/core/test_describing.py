import pytest
from curator_core.plugins import plugins
from curator_core.recipes.describing import stage_help


@pytest.mark.parametrize("name", [name for name in plugins().stages if name.startswith("core.")])
def test_every_option_is_explained(name: str) -> None:
    found = stage_help(name)
    assert found.doc
    assert [option.name for option in found.options if not option.doc] == []
