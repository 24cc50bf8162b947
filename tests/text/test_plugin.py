from importlib import import_module

import curator_text
import pytest
from curator_core.stages import ProcessingStage, snake_case
from curator_text.plugin import curator_stages


@pytest.mark.parametrize(("name", "place"), curator_stages().items())
def test_every_name_leads_to_the_stage_of_that_name(name: str, place: str) -> None:
    module, _, attribute = place.partition(":")
    stage = getattr(import_module(module), attribute)
    assert issubclass(stage, ProcessingStage)
    assert name == f"text.{snake_case(attribute)}"


def test_every_stage_of_the_front_door_has_a_name() -> None:
    registered = {place.rpartition(":")[2] for place in curator_stages().values()}
    exported = set(curator_text.__all__) - {"TextFilter", "TextModifier"}
    assert exported == registered
