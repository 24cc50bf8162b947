"""Previews are small animations that the writer stores with the clips."""

import io
from collections.abc import Callable
from pathlib import Path

import av
import pytest
from curator_core import AnyStage, LocalExecutor, Pipeline
from curator_core.testing import check_stage
from curator_video.analysis.measurements import FrameNeeds
from curator_video.analysis.sampling import Sampling
from curator_video.fixed_stride import FixedStrideSplitter
from curator_video.previews import ClipPreviewer, encode_animation
from curator_video.reader import VideoReader
from curator_video.tasks import Clip
from curator_video.thumbnails import encode_jpeg
from curator_video.writers.clip_writer import ClipWriter

Problems = Callable[[AnyStage], list[str]]


def test_the_writer_stores_previews(harbour: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    stages = [
        VideoReader(str(harbour)),
        FixedStrideSplitter(4),
        ClipPreviewer(fps=2.0, height=90),
        ClipWriter(str(out)),
    ]
    Pipeline("look", stages=stages).run(LocalExecutor(0))
    pages = {path.stem for path in (out / "metas" / "v0").glob("[0-9a-f]*.json")}
    previews = sorted((out / "previews").glob("*.webp"))
    assert {path.stem for path in previews} == pages
    found = []
    for path in previews:
        with pytest.importorskip("PIL.Image").open(path) as image:
            found.append((image.n_frames, image.size))
        assert path.stat().st_size < 20_000
    still, moving = (1, (160, 90)), (8, (160, 90))
    assert sorted(found) == [still, moving, moving]


def test_previews_use_the_shared_decode() -> None:
    assert ClipPreviewer(2.0, 90).frame_needs() == FrameNeeds(frames=frozenset({Sampling(2.0, 90)}))


def test_a_single_frame_can_be_encoded() -> None:
    import numpy as np

    [frame] = [np.full((41, 33, 3), 200, np.uint8)]
    assert encode_animation([frame], 1.0, 50).startswith(b"RIFF")
    with av.open(io.BytesIO(encode_jpeg(frame)), format="jpeg_pipe") as file:
        [found] = file.decode(video=0)
        assert (found.width, found.height) == (33, 41)
        assert abs(int(found.to_ndarray(format="rgb24")[20, 16, 0]) - 200) < 4


def test_wrong_options_are_reported(problems: Problems) -> None:
    assert problems(ClipPreviewer(0, 0, 101)) == [
        "fps is 0",
        "height is 0",
        "quality is 101",
    ]


def test_stage_contract(harbour_clips: list[Clip]) -> None:
    check_stage(ClipPreviewer(), harbour_clips[0])
