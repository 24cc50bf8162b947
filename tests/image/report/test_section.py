"""The report of a run shows some of its pictures."""

import io
from pathlib import Path

import numpy as np
from curator_core import LocalExecutor, ParquetWriter, Pipeline
from curator_image.filters.size import SizeFilter
from curator_image.readers.folder import ImageFolderReader
from curator_image.report import section
from curator_report.page import write_report
from PIL import Image


def put(folder: Path, name: str, side: int) -> None:
    folder.mkdir(exist_ok=True)
    noise = np.random.default_rng(side).integers(0, 256, (side, side, 3), np.uint8)
    sink = io.BytesIO()
    Image.fromarray(noise).save(sink, "PNG")
    (folder / name).write_bytes(sink.getvalue())


def page_of(folder: Path) -> str:
    put(folder / "in", "large.png", 120)
    put(folder / "in", "<small>.png", 20)
    stages = [
        ImageFolderReader(str(folder / "in")),
        SizeFilter(64),
        ParquetWriter(str(folder / "out"), dropped_path=str(folder / "dropped")),
    ]
    result = Pipeline("look", stages=stages).run(LocalExecutor(workers=0))
    return Path(write_report(str(result.run_dir))).read_text()


def test_a_report_shows_pictures(tmp_path: Path) -> None:
    page = page_of(tmp_path)
    _, _, shown = page.partition(">Pictures</h2>")
    assert shown.index("Kept to the end") < shown.index("Dropped by size_filter")
    assert page.count('src="data:image/jpeg;base64,') == 2
    assert "&lt;small&gt;" in shown
    assert "<small>.png" not in page
    assert ".of-image-pictures { " in page
    assert f"curate image report {tmp_path}/out/.curator/look</code>" in shown


def test_pictures_beyond_the_size_limit_are_left_out(tmp_path: Path) -> None:
    page_of(tmp_path)
    from curator_report.run_record import read_run

    run = read_run(str(tmp_path / "out/.curator/look"), in_short=True)
    whole = section.pictures_section(run, 1_000_000)
    short = section.pictures_section(run, whole.size - 10)
    assert (whole.html.count("<img"), short.html.count("<img")) == (2, 1)
