from importlib import import_module

import curator_text
import pytest
from curator_cli.recipes.help import stage_help
from curator_core.model.stages import ProcessingStage, snake_case
from curator_core.plugins.registry import plugins
from curator_text.plugin import curator_stages

NO_STAGES = {
    "BlendSource",
    "BlendWorkflow",
    "CheapestFirst",
    "ColumnFilter",
    "Filter",
    "FunctionFilter",
    "Modify",
    "Score",
    "ScoreFilter",
    "ShuffleWorkflow",
    "DocumentText",
    "TextFilter",
    "TextModifier",
    "TextRewriter",
    "WordFilter",
    "train_quality_model",
}
"""What a recipe cannot name: a function of one's own, and what one's own stages are made of."""


@pytest.mark.parametrize(("name", "place"), curator_stages().items())
def test_every_registered_name_loads_its_stage(name: str, place: str) -> None:
    module, _, attribute = place.partition(":")
    stage = getattr(import_module(module), attribute)
    assert issubclass(stage, ProcessingStage)
    assert name == f"text.{snake_case(attribute)}"


def test_every_exported_stage_is_registered() -> None:
    registered = {place.rpartition(":")[2] for place in curator_stages().values()}
    exported = set(curator_text.__all__) - NO_STAGES
    assert exported == registered


@pytest.mark.parametrize("name", [name for name in plugins().stages if name.startswith("text.")])
def test_every_option_has_a_docstring(name: str) -> None:
    found = stage_help(name)
    assert found.doc
    assert [option.name for option in found.options if not option.doc] == []
