"""Local models caption windows, with the same result in any batch, and rewrite captions."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from curator_core import AnyStage, StageError
from curator_core.testing import check_stage, run_stages
from curator_video.captions.local import CaptionEnhancer, ClipCaptioner
from curator_video.tasks import Clip
from tiny_image_models import WORDS

Problems = Callable[[AnyStage], list[str]]

Tiny = Callable[[str], str]

pytestmark = pytest.mark.usefixtures("one_thread")


def captions(folder: str, clips: list[Clip], **options: Any) -> list[list[str]]:
    stage = ClipCaptioner(model=folder, device="cpu", max_new_tokens=5, height=64, **options)
    ran = run_stages([stage], clips)
    assert all(clip.scores["caption_model"].startswith(f"{folder} sha256:") for clip in ran.outputs)
    return [[window.captions["caption"] for window in clip.data.windows] for clip in ran.outputs]


@pytest.mark.parametrize("kind", ["llava", "git"])
def test_batching_does_not_change_captions(
    tiny: Tiny, harbour_clips: list[Clip], kind: str
) -> None:
    """llava is asked in a chat about all frames; git only captions, and is shown one."""
    prompt = "a drawing of the dog" if kind == "llava" else ""
    first = harbour_clips[0]
    clips = [*harbour_clips[1:], first.with_data(replace(first.data, start=0.0, end=3.5))]
    options: dict[str, Any] = {"prompt": prompt, "window_frames": 40, "remainder_frames": 20}
    together = captions(tiny(kind), clips, **options)
    assert [len(row) for row in together] == [1, 1, 2]
    assert together == captions(tiny(kind), clips, model_inference_batch_size=1, **options)
    words = [text for row in together for text in row]
    assert len(set(words)) > 1
    assert set(" ".join(words).split()) <= {*WORDS, "[UNK]"}
    assert not any(text.startswith(prompt) for text in words if prompt)


def test_captions_are_rewritten(tiny: Tiny, harbour_clips: list[Clip]) -> None:
    stages = [
        ClipCaptioner(model=tiny("llava"), device="cpu", prompt="a photo", max_new_tokens=4),
        CaptionEnhancer(model=tiny("words"), device="cpu", max_new_tokens=4),
    ]
    clips = run_stages(stages, harbour_clips).outputs
    for clip in clips:
        [window] = clip.data.windows
        assert window.captions.keys() == {"caption", "enhanced_caption"}
        assert not window.captions["enhanced_caption"].startswith("Here")
        assert str(clip.scores["enhanced_caption_model"]).startswith(tiny("words"))


def test_a_model_of_another_kind_is_refused(tiny: Tiny, harbour_clips: list[Clip]) -> None:
    with pytest.raises(StageError, match=r"cannot load a model|for another purpose"):
        captions(tiny("clip"), harbour_clips[:1])


def test_wrong_options_are_reported(tiny: Tiny, problems: Problems) -> None:
    [reported] = ClipCaptioner(model="/no/such/model").check()
    assert reported.startswith("model '/no/such/model' is not a folder")
    reported = problems(ClipCaptioner(model=tiny("git"), max_new_tokens=0))
    assert reported == ["max_new_tokens is 0"]


def test_stage_contract(tiny: Tiny, harbour_clips: list[Clip]) -> None:
    check_stage(
        ClipCaptioner(model=tiny("git"), device="cpu", prompt="", max_new_tokens=3),
        harbour_clips[0],
        harbour_clips[1],
    )
