"""Pages with pictures, filmstrips and players in a real browser."""

import sys
import wave
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browserkit import check_page, inspect_pages, needs_browser
from curator_core import LocalExecutor, ParquetWriter, Pipeline
from curator_report.page import write_report

pytestmark = needs_browser

for package in ("curator_image", "curator_video", "curator_audio"):
    pytest.importorskip(package)

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))

ODD = "wide" * 30 + "<b>.x"
"""Part of names; must not be taken for HTML nor make a page wider."""


def pictures(folder: Path) -> list[Any]:
    from curator_image.filters.size import SizeFilter
    from curator_image.readers.folder import ImageFolderReader
    from PIL import Image

    for side in range(40, 280, 10):
        noise = np.random.default_rng(side).integers(0, 256, (side, 2 * side, 3), np.uint8)
        Image.fromarray(noise).save(folder / f"{side}{ODD}.jpg")
    out = ParquetWriter(str(folder / "out"), dropped_path=str(folder / "dropped"))
    return [ImageFolderReader(str(folder)), SizeFilter(100), out]


def clips(folder: Path) -> list[Any]:
    from corpus.films import random_film
    from corpus.videos import write_video
    from curator_video.cutting.cutter import ClipCutter
    from curator_video.filters.quality import FreezeFilter
    from curator_video.fixed_stride import FixedStrideSplitter
    from curator_video.reader import VideoReader
    from curator_video.writers.clip_writer import ClipWriter

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
    """Return the page that `curate image report` and similar commands write."""
    from importlib import import_module

    module, name = {
        "pictures": ("curator_image.report.filters", "write_pictures"),
        "clips": ("curator_video.report.page", "write_clips"),
        "recordings": ("curator_audio.report.page", "write_page"),
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
def test_pages_fit_and_show_their_media(pages: Any, scheme: str, tmp_path: Path) -> None:
    kind, *both = pages
    for found in inspect_pages(tmp_path, scheme, *both):
        check_page(found, scheme)
        assert found["broken"] == 0
        if kind == "recordings":
            assert found["players"] >= 4
        else:
            assert found["pictures"] >= 4
    for page in both:
        assert "<b>.x" not in page
