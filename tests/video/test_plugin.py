"""The package exports its stages without importing heavy libraries."""

import re
from importlib import import_module
from pathlib import Path

import curator_video
import pytest
from curator_cli.recipes.help import stage_help
from curator_core.model.stages import ProcessingStage, snake_case
from curator_core.plugins.registry import plugins
from curator_core.testing import modules_loaded_by
from curator_video.plugin import curator_stages


def test_every_public_name_exists() -> None:
    assert [name for name in curator_video.__all__ if not hasattr(curator_video, name)] == []


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(AttributeError, match="'curator_video' has no attribute 'VideoRaeder'"):
        curator_video.VideoRaeder  # noqa: B018 - asking is the point


def test_importing_stages_loads_no_heavy_library() -> None:
    modules = {place.partition(":")[0] for place in curator_stages().values()}
    loaded = modules_loaded_by("import curator_video, " + ", ".join(sorted(modules)))
    assert not loaded & {"av", "torch", "PIL"}
    assert not modules_loaded_by("import curator_video") & {"av", "torch", "numpy", "pyarrow"}


@pytest.mark.parametrize(("name", "place"), curator_stages().items())
def test_registered_names_match_their_classes(name: str, place: str) -> None:
    module, _, attribute = place.partition(":")
    stage = getattr(import_module(module), attribute)
    assert issubclass(stage, ProcessingStage)
    assert name == f"video.{snake_case(attribute)}"
    assert attribute in curator_video.__all__


def test_the_readme_lists_every_stage() -> None:
    readme = (Path(__file__).parents[2] / "packages" / "video" / "README.md").read_text()
    listed = readme.partition("## Every stage")[2].partition("\n## ")[0]
    named = set(re.findall(r"`(\w+)`", listed))
    assert named == {place.partition(":")[2] for place in curator_stages().values()}


@pytest.mark.parametrize("name", [name for name in plugins().stages if name.startswith("video.")])
def test_every_option_has_a_docstring(name: str) -> None:
    found = stage_help(name)
    assert found.doc
    assert [option.name for option in found.options if not option.doc] == []
