"""The page about a run shows how much each rule dropped, and players with marked spans."""

import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from curator_audio import (
    AudioBatch,
    AudioEncoder,
    ManifestWriter,
    SegmentWriter,
    ShardWriter,
    SnrFilter,
)
from curator_audio.commands import report
from curator_audio.report.figures import Mark, draw_sound, png
from curator_audio.report.page import write_page
from curator_audio.report.rules import is_measured
from curator_audio.report.sections import hours
from curator_core import AnyStage, InputError, LocalExecutor, ParquetWriter, Pipeline
from curator_report.page import write_report
from sounds import put, tone, voice, wav


def recordings(folder: Path) -> AudioBatch:
    pause = np.zeros((1, 16_000), np.float32)
    talk = np.hstack([voice(3), pause, voice(2), tone(2), pause])
    path = put(folder, "talk <b>.wav", wav(talk))
    rows = [(0.0, 4.0), (4.0, 2.0), (6.2, 1.5)]
    return AudioBatch.from_pylist(
        [
            {"audio_filepath": path, "offset": start, "duration": long, "text": f"<i>{start}"}
            for start, long in rows
        ]
    )


WRITERS = {
    "files": lambda out, dropped: [SegmentWriter(out, dropped_path=dropped)],
    "shards": lambda out, dropped: [ShardWriter(out, dropped_path=dropped)],
    "manifest": lambda out, dropped: [ManifestWriter(out, dropped_path=dropped)],
    "parquet": lambda out, dropped: [AudioEncoder(), ParquetWriter(out, dropped_path=dropped)],
}


def run(folder: Path, writer: str, dropped: str | None) -> str:
    out = str(folder / "out")
    stages: list[AnyStage] = [
        SnrFilter(20.0, score_field="snr_db"),
        *WRITERS[writer](out, dropped),
    ]
    task = recordings(folder)
    result = Pipeline(name="cut", stages=stages).run(LocalExecutor(workers=0), tasks=[task])
    return str(result.run_dir)


@pytest.mark.parametrize("writer", WRITERS)
def test_a_page_shows_what_was_kept_and_dropped(tmp_path: Path, writer: str) -> None:
    where = write_page(run(tmp_path, writer, str(tmp_path / "dropped")))
    text = Path(where).read_text()
    assert "4.0 s kept in 1 row, 3.5 s dropped" in text
    assert "<td>snr_filter</td><td>2</td><td>3.5 s</td><td>66.7 %</td>" in text
    assert text.count('class="sound"') == 4  # the recording, one kept, two dropped
    assert text.count("data:audio/ogg") == 4
    assert text.count('<rect class="kept" x="0.0"') == 1
    assert re.search(r"4\.0-6\.0 s, snr_filter: signal-to-noise ratio below 20 dB", text)
    assert "signal-to-noise ratio in dB" in text
    assert "limit 20" in text
    assert "<b>.wav" not in text
    assert "<i>" not in text
    assert "http://" not in text
    assert len(text) < 600_000


def test_without_dropped_rows_the_page_says_how_to_get_them(tmp_path: Path) -> None:
    where = tmp_path / "page.html"
    done = CliRunner().invoke(report, [run(tmp_path, "files", None), "--output", str(where)])
    assert done.output == f"report: {where}\n"
    assert "the writer had no dropped_path" in where.read_text()


def test_a_run_without_recordings_is_an_error(tmp_path: Path) -> None:
    stages = [SnrFilter(5.0)]
    pipeline = Pipeline(name="measure", stages=stages)
    result = pipeline.run(
        LocalExecutor(workers=0), tasks=[recordings(tmp_path)], run_dir=f"{tmp_path}/run"
    )
    with pytest.raises(InputError, match="wrote no recordings; end its pipeline with a writer"):
        write_page(str(result.run_dir))


def test_missing_recordings_are_marked_on_the_page(tmp_path: Path) -> None:
    done = run(tmp_path, "manifest", str(tmp_path / "dropped"))
    (tmp_path / "talk <b>.wav").unlink()
    assert Path(write_page(done)).read_text().count("the file does not exist") == 4


def test_quarantined_recordings_are_listed_with_their_reason(tmp_path: Path) -> None:
    rows = [*recordings(tmp_path).to_pylist(), {"audio_filepath": f"{tmp_path}/no <b>.wav"}]
    stages = [SnrFilter(20.0), SegmentWriter(f"{tmp_path}/out")]
    pipeline = Pipeline(name="cut", stages=stages)
    tasks = [AudioBatch.from_pylist(rows)]
    done = pipeline.run(LocalExecutor(workers=0), tasks=tasks, on_error="quarantine")
    text = Path(write_page(str(done.run_dir))).read_text()
    assert "4.0 s kept in 1 row, 1 quarantined" in text
    assert "snr_filter: the file does not exist" in text


def test_drawings_show_their_spans_for_any_sound() -> None:
    samples = tone(10)[0]
    drawn = draw_sound(
        samples, 16_000, [Mark(2.5, 5.0, "kept", "a & b"), Mark(11.0, 12.0, "kept", "")]
    )
    assert '<rect class="kept" x="160.0" y="1" width="160.0"' in drawn
    assert "<title>a &amp; b</title>" in drawn
    assert drawn.count("<rect") == 1
    for few in (np.zeros(1, np.float32), np.zeros(500, np.float32), samples[:700]):
        assert "nan" not in draw_sound(few, 16_000)
    assert png(np.zeros((2, 3), np.uint8)).startswith(b"\x89PNG\r\n\x1a\n")


def test_durations_are_formatted_for_people() -> None:
    assert [hours(seconds) for seconds in (3.21, 119, 7_200)] == ["3.2 s", "2 min", "2.0 h"]
    assert [name for name in ("dnsmos_ovrl", "mos", "wer", "almost") if is_measured(name)] == [
        "dnsmos_ovrl",
        "mos",
        "wer",
    ]


def test_the_report_of_a_run_has_players(tmp_path: Path) -> None:
    done = run(tmp_path, "files", str(tmp_path / "dropped"))
    text = Path(write_report(done)).read_text()
    _, _, shown = text.partition(">Recordings</h2>")
    assert shown.index("<h3>Kept</h3>") < shown.index("<h3>Dropped by snr_filter</h3>")
    assert shown.count("<audio controls") == 3
    assert "<td>snr_filter</td><td>2</td><td>3.5 s</td><td>66.7 %</td>" in shown
    assert "<b>.wav" not in text
    assert len(text) < 600_000


def test_silence_is_dark_and_sound_is_bright() -> None:
    from curator_audio.report.figures import _spectrogram

    assert _spectrogram(np.zeros(16_000, np.float32)).max() == 0
    assert _spectrogram(tone(1)[0]).max() > 20
