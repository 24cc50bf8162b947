"""Report pages show histograms, examples and clusters of duplicates."""

import io
import tarfile
from pathlib import Path

import numpy as np
import pytest
from curator_core import InputError, LocalExecutor, ParquetWriter, Pipeline
from curator_image.dedup.workflow import ImageDeduplicationWorkflow
from curator_image.filters.quality import BlurFilter, BrightnessFilter
from curator_image.filters.size import SizeFilter
from curator_image.readers.webdataset import WebDatasetReader
from curator_image.report.filters import write_pictures
from curator_image.report.thumbnails import thumbnail
from curator_image.writers.webdataset import WebDatasetWriter
from curator_report.histograms import HistogramScores, histogram, number
from curator_report.page import write_report
from PIL import Image, ImageFilter

HERE = LocalExecutor(workers=0)


def encoded(seed: int, blur: float = 0.0, scale: float = 1.0) -> bytes:
    chance = np.random.default_rng(seed)
    clouds = Image.fromarray(chance.integers(0, 256, (60, 80, 3), np.uint8))
    picture = clouds.resize((320, 240)).filter(ImageFilter.GaussianBlur(blur))
    sink = io.BytesIO()
    picture.resize((int(320 * scale), int(240 * scale))).save(sink, "JPEG", quality=90)
    return sink.getvalue()


@pytest.fixture
def shards(tmp_path: Path) -> Path:
    samples = {f"sharp{seed}.jpg": encoded(seed) for seed in range(6)}
    samples |= {f"soft{seed}.jpg": encoded(seed, 9.0) for seed in range(3)}
    samples |= {"<tiny>.jpg": encoded(1, scale=0.2)}
    folder = tmp_path / "in"
    folder.mkdir()
    with tarfile.open(folder / "0.tar", "w") as tar:
        for name, data in samples.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return folder


def cleaned(shards: Path, writer: object) -> str:
    stages = [
        WebDatasetReader(str(shards)),
        SizeFilter(100),
        BrightnessFilter(),
        BlurFilter(score_field="sharpness"),
        writer,
    ]
    result = Pipeline("clean", stages=stages).run(HERE)  # type: ignore[arg-type]
    return str(result.run_dir)


@pytest.mark.parametrize("kind", [ParquetWriter, WebDatasetWriter])
def test_the_page_shows_what_each_rule_kept_and_dropped(
    shards: Path, tmp_path: Path, kind: type
) -> None:
    writer = kind(str(tmp_path / "out"), dropped_path=str(tmp_path / "dropped"))
    page = Path(write_pictures(cleaned(shards, writer))).read_text()
    assert "size_filter: 1 dropped" in page
    assert "blur_filter: 3 dropped" in page
    assert "limit 100" in page
    assert "limit 0.97" in page, "also of rules that add no column"
    assert page.count('<rect class="dropped"') >= 1
    assert "shorter side under 100" in page
    assert "&lt;tiny&gt;" in page
    assert "<tiny>" not in page
    pictures = page.count("data:image/jpeg;base64,")
    assert pictures == 6 + 1 + 3 + 6, "kept to the end, small, soft, and nearest to the limit"
    assert "http" not in page


def test_the_report_of_the_run_draws_scores_with_their_limits(shards: Path, tmp_path: Path) -> None:
    run = cleaned(shards, ParquetWriter(str(tmp_path / "out")))
    page = Path(write_report(run)).read_text()
    scores = page.partition(">Scores</h2>")[2].partition("<h2")[0]
    assert scores.count('<svg class="histogram"') == 3, "size, brightness and sharpness"
    assert "limit 100" in page


def test_without_dropped_pictures_the_page_says_how_to_keep_them(
    shards: Path, tmp_path: Path
) -> None:
    page = Path(write_pictures(cleaned(shards, ParquetWriter(str(tmp_path / "out"))))).read_text()
    assert "the writer has no dropped_path" in page
    assert "blur_filter: 3 dropped" in page


def test_a_run_without_filters_is_refused(shards: Path, tmp_path: Path) -> None:
    stages = [WebDatasetReader(str(shards)), ParquetWriter(str(tmp_path / "out"))]
    result = Pipeline("copy", stages=stages).run(HERE)
    with pytest.raises(InputError, match="neither dropped nor scored pictures: it has no filters"):
        write_pictures(str(result.run_dir))


def test_the_duplicates_page_shows_clusters(shards: Path, tmp_path: Path) -> None:
    workflow = ImageDeduplicationWorkflow(str(shards), str(tmp_path / "out"))
    result = workflow.run(HERE)
    assert result.report is not None
    page = Path(result.report).read_text()
    assert f"{result.metadata['duplicates']} of 10 pictures are duplicates" in page
    assert page.count('class="best"') == result.metadata["groups"]
    shown = page.count("data:image/jpeg;base64,")
    assert shown == result.metadata["groups"] + result.metadata["duplicates"]
    assert "&lt;tiny&gt;" in page
    assert "<br>320 x 240, " in page
    assert workflow.run(HERE).report == result.report


def test_a_histogram_has_its_limits_and_all_scores() -> None:
    drawn = histogram(HistogramScores(kept=[1.0, 2.0, 3.0], dropped=[0.1, float("nan")]), [0.5])
    assert drawn.count("<rect") == 4
    assert "limit 0.5" in drawn
    assert histogram(HistogramScores(), [1.0]) == ""
    assert histogram(HistogramScores(kept=[5.0]), [5.0]).count("<rect") == 1


def test_scores_over_many_powers_of_ten_are_spread_out() -> None:
    scores = HistogramScores(kept=[float(10**power) for power in range(6)])
    assert scores.is_wide
    assert histogram(scores, [0.0, 100.0]).count("<rect") == 6


def test_numbers_are_short() -> None:
    assert [number(value) for value in (0.12345, 68.0, 1411.2)] == ["0.123", "68", "1,411"]


def test_missing_pictures_are_replaced_by_the_reason() -> None:
    assert "it is not an image of a known format" in thumbnail(b"x", "a")
    assert "not found" in thumbnail(None, "a")
