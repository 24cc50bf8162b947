"""The clips page shows timelines, and filmstrips of kept and dropped clips."""

import base64
import io
import re
from pathlib import Path
from typing import Any

import av
import pytest
from curator_core import InputError, LocalExecutor, Pipeline
from curator_report.page import write_report
from curator_video.cutting.cutter import ClipCutter
from curator_video.filters.quality import FreezeFilter
from curator_video.fixed_stride import FixedStrideSplitter
from curator_video.reader import VideoReader
from curator_video.report.filmstrips import clock
from curator_video.report.page import write_clips
from curator_video.writers.clip_writer import ClipWriter
from curator_video.writers.shard_writer import ClipShardWriter

JPEG = re.compile(r'src="data:image/jpeg;base64,([^"]+)"')


def made(films: Path, writer: Any, run_dir: Path) -> str:
    stages = [VideoReader(str(films)), FixedStrideSplitter(4), FreezeFilter(), ClipCutter("copy")]
    done = Pipeline("clips", stages=[*stages, writer]).run(LocalExecutor(0), run_dir=str(run_dir))
    return str(done.run_dir)


@pytest.fixture(params=[ClipWriter, ClipShardWriter])
def page(request: pytest.FixtureRequest, harbour: Path, tmp_path: Path) -> str:
    films = tmp_path / "films"
    films.mkdir()
    (films / "<harbour>.mp4").write_bytes(harbour.read_bytes())
    (films / "empty.mp4").touch()
    run = made(films, request.param(str(tmp_path / "out")), tmp_path / "run")
    return Path(write_clips(run)).read_text()


def test_the_page_shows_kept_dropped_and_unreadable(page: str) -> None:
    assert "2 clips kept and 1 dropped of 1 video; 1 part quarantined as damaged." in page
    assert "freeze_filter: 1 dropped" in page
    assert re.search(r"<b>empty.mp4</b> is empty \(0 bytes\)", page)
    assert "&lt;harbour&gt;.mp4" in page
    assert "<harbour>" not in page
    assert page.count('<rect class="kept"') == 2
    assert page.count('<rect class="dropped"') == 1
    assert "0:08.0-0:12.0 frozen" in page
    assert "frozen_share&nbsp;" in page


def test_filmstrips_are_jpegs_of_the_clips(page: str) -> None:
    strips = [base64.b64decode(one) for one in JPEG.findall(page)]
    assert len(strips) == 3
    for strip in strips:
        with av.open(io.BytesIO(strip), format="jpeg_pipe") as container:
            [frame] = container.decode(video=0)
        assert frame.height == 84
        assert frame.width >= 4 * 149


def test_a_missing_file_is_reported_in_place_of_its_filmstrip(
    harbour: Path, tmp_path: Path
) -> None:
    film = tmp_path / "film.mp4"
    film.write_bytes(harbour.read_bytes())
    run = made(film, ClipWriter(str(tmp_path / "out")), tmp_path / "run")
    film.unlink()
    page = Path(write_clips(run, str(tmp_path / "page.html"))).read_text()
    assert page.count("film.mp4: it does not exist (any more)") == 1, (
        "the clips themselves are there"
    )


def test_a_run_without_clips_is_refused(harbour: Path, tmp_path: Path) -> None:
    done = Pipeline("read", stages=[VideoReader(str(harbour))]).run(
        LocalExecutor(0), run_dir=str(tmp_path / "run")
    )
    with pytest.raises(
        InputError, match=r"wrote no clips; end its pipeline with video\.clip_writer"
    ):
        write_clips(str(done.run_dir))


def test_clock_formats_times() -> None:
    assert [clock(0), clock(61.26), clock(3600)] == ["0:00.0", "1:01.3", "1:00:00.0"]


def test_the_run_report_has_filmstrips(harbour: Path, tmp_path: Path) -> None:
    run = made(harbour, ClipWriter(str(tmp_path / "out")), tmp_path / "run")
    page = Path(write_report(run)).read_text()
    _, _, shown = page.partition(">Clips</h2>")
    assert shown.index("<h3>Kept</h3>") < shown.index("<h3>Dropped by freeze_filter</h3>")
    assert len(JPEG.findall(shown)) == 3
    assert "0:08.0-0:12.0 <b>frozen" in shown
