"""Pages with pictures, filmstrips and players in a real browser: those of runs, and their own."""

import sys
import wave
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browserkit import check_page, looked_at, needed
from curator_core import LocalExecutor, ParquetWriter, Pipeline
from curator_core.reporting.pages import write_report

pytestmark = needed

for package in ("curator_image", "curator_video", "curator_audio"):
    pytest.importorskip(package)

sys.path.insert(0, str(Path(__file__).parents[3] / "examples"))

ODD = "wide" * 30 + "<b>.x"
"""Names that must neither be taken for HTML nor make a page wider."""


def pictures(folder: Path) -> list[Any]:
    from curator_image.folders.reading import ImageFolderReader
    from curator_image.measuring.sizes import SizeFilter
    from PIL import Image

    for side in range(40, 280, 10):
        noise = np.random.default_rng(side).integers(0, 256, (side, 2 * side, 3), np.uint8)
        Image.fromarray(noise).save(folder / f"{side}{ODD}.jpg")
    out = ParquetWriter(str(folder / "out"), dropped_path=str(folder / "dropped"))
    return [ImageFolderReader(str(folder)), SizeFilter(100), out]


def clips(folder: Path) -> list[Any]:
    from corpus.films import random_film
    from corpus.videos import write_video
    from curator_video.cutting.stages import ClipCutter
    from curator_video.filters.pictures import FreezeFilter
    from curator_video.reading import VideoReader
    from curator_video.splitting.stride import FixedStrideSplitter
    from curator_video.writing.stages import ClipWriter

    write_video(folder / f"{ODD}.mp4", random_film(13, 25, seed=1))
    cut = [FixedStrideSplitter(2), FreezeFilter(), ClipCutter("copy")]
    return [VideoReader(str(folder)), *cut, ClipWriter(str(folder / "out"))]


def recordings(folder: Path) -> list[Any]:
    from curator_audio import AudioFolderReader, DurationFilter, SegmentWriter

    for seconds in range(1, 9):
        with wave.open(str(folder / f"{seconds}{ODD}.wav"), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(16_000)
            noise = np.random.default_rng(seconds).integers(-9999, 9999, seconds * 16_000, np.int16)
            file.writeframes(noise.tobytes())
    out = SegmentWriter(str(folder / "out"), dropped_path=str(folder / "dropped"))
    return [AudioFolderReader(str(folder)), DurationFilter(at_least=3), out]


def own_page(kind: str, run: str) -> str:
    """What `curate image report` and its like write."""
    from importlib import import_module

    module, name = {
        "pictures": ("curator_image.reporting.filters", "write_pictures"),
        "clips": ("curator_video.reporting.pages", "write_clips"),
        "recordings": ("curator_audio.reporting.pages", "write_page"),
    }[kind]
    where: str = getattr(import_module(module), name)(run)
    return Path(where).read_text()


@pytest.fixture(scope="module", params=[pictures, clips, recordings])
def pages(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp(request.param.__name__)
    pipeline = Pipeline(request.param.__name__, stages=request.param(folder))
    run = str(pipeline.run(LocalExecutor(workers=0), run_dir=str(folder / ".run")).run_dir)
    kind = request.param.__name__
    return kind, Path(write_report(run)).read_text(), own_page(kind, run)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_they_fit_and_show_what_they_have(pages: Any, scheme: str, tmp_path: Path) -> None:
    kind, *both = pages
    for found in looked_at(tmp_path, scheme, *both):
        check_page(found, scheme)
        assert found["broken"] == 0
        if kind == "recordings":
            assert found["players"] >= 4
        else:
            assert found["pictures"] >= 4
    for page in both:
        assert "<b>.x" not in page
