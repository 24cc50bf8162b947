"""Models that may run code of their own run it by leave only."""

import pytest
from curator_core import PipelineError
from curator_core.recipes import Permissions, load_recipe

BY_LEAVE = [
    "stage: audio.speaker_diarizer, backend: pyannote, model: a/b",
    "stage: audio.speaker_diarizer, backend: sortformer, model: a/b",
    "stage: audio.speech_recognizer, model: nvidia/parakeet-tdt-0.6b",
    "stage: audio.speech_recognizer, model: a/b, backend: nemo",
    "stage: audio.utmos_filter, weights: a/b/utmos.jit",
    "stage: audio.speech_finder, weights: other.jit",
]
FREE = [
    "stage: audio.speaker_diarizer",
    "stage: audio.speech_recognizer, model: base.en, backend: faster-whisper",
    "stage: audio.speech_finder",
]


def recipe(step: str) -> str:
    return f"name: x\nsteps:\n- {{{step}}}\n"


@pytest.mark.parametrize("step", BY_LEAVE)
def test_code_of_models_needs_leave(step: str) -> None:
    with pytest.raises(PipelineError, match=r"^<recipe>:3: step .*--trust-code"):
        load_recipe(recipe(step), permissions=Permissions())
    load_recipe(recipe(step), permissions=Permissions(trust_code=True))


@pytest.mark.parametrize("step", FREE)
def test_models_without_code_need_none(step: str) -> None:
    load_recipe(recipe(step), permissions=Permissions())
