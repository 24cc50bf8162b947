"""Every name resolves to a stage, every stage has a name, and neither imports heavy libraries."""

import re
from importlib import import_module
from pathlib import Path

import curator_audio
import pytest
from curator_audio.plugin import curator_stages
from curator_cli.recipes.help import stage_help
from curator_core.model.stages import ProcessingStage, snake_case
from curator_core.testing import modules_loaded_by

README = Path(__file__).parents[2] / "packages/audio/README.md"
TAKE_FUNCTIONS = {"Filter", "Score", "ScoreFilter"}  # recipes have no functions
NO_STAGES = {
    "NATIVE",
    "SPEECH",
    "AudioBatch",
    "AudioDeduplicationWorkflow",
    "AudioFilter",
    "AudioFormat",
    "Waveform",
}


@pytest.mark.parametrize(("name", "place"), curator_stages().items())
def test_every_name_resolves_to_its_stage(name: str, place: str) -> None:
    module, _, attribute = place.partition(":")
    stage = getattr(import_module(module), attribute)
    assert issubclass(stage, ProcessingStage)
    assert name == f"audio.{snake_case(attribute)}"
    found = stage_help(name)
    assert found.doc
    assert [option.name for option in found.options if not option.doc] == []


def test_every_exported_stage_has_a_name() -> None:
    registered = {place.rpartition(":")[2] for place in curator_stages().values()}
    assert registered == set(curator_audio.__all__) - NO_STAGES - TAKE_FUNCTIONS
    assert all(getattr(curator_audio, name) for name in curator_audio.__all__)


def test_the_readme_lists_every_stage() -> None:
    rows = re.findall(r"^\| (`.*?) \|", README.read_text(), re.MULTILINE)
    listed = {
        name if name.startswith("audio.") else f"audio.{name}"
        for row in rows
        for name in re.findall(r"`([a-z0-9_.]+)`", row)
    }
    assert set(curator_stages()) <= listed


def test_importing_the_plugin_imports_no_heavy_library() -> None:
    loaded = modules_loaded_by("import curator_audio, curator_audio.plugin")
    assert not {"torch", "torchaudio", "av", "numpy", "pyarrow"} & set(loaded)
