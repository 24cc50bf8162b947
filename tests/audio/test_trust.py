"""Models that may run code of their own need permission."""

import pytest
from curator_cli.recipes import Permissions, load_recipe
from curator_core import PipelineError

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
def test_models_with_code_need_permission(step: str) -> None:
    with pytest.raises(PipelineError, match=r"^<recipe>:3: step .*--trust-code"):
        load_recipe(recipe(step), permissions=Permissions())
    load_recipe(recipe(step), permissions=Permissions(trust_code=True))


@pytest.mark.parametrize("step", FREE)
def test_models_without_code_need_no_permission(step: str) -> None:
    load_recipe(recipe(step), permissions=Permissions())
