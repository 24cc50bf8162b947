"""Clips are written with metadata and an index, in the layout of NeMo Curator."""

import json
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from curator_core import Dropped, LocalExecutor, OutputError, Pipeline, ProcessingStage, RunResult
from curator_core.testing import check_stage
from curator_video.cutting.cutter import ClipCutter
from curator_video.fixed_stride import FixedStrideSplitter
from curator_video.probing import probe
from curator_video.reader import VideoReader
from curator_video.source import VideoSource
from curator_video.tasks import Clip, ClipSpan
from curator_video.writers.clip_metadata import index_row, index_table
from curator_video.writers.clip_writer import ClipWriter


@dataclass
class DropFirst(ProcessingStage[Clip, Clip]):
    def process(self, task: Clip) -> Clip | Dropped:
        scored = task.with_scores(motion_mean=0.25)
        return scored if task.data.start else Dropped("first", records=scored)


def run(source: Path, out: Path, mode: str = "error") -> RunResult:
    stages = [
        VideoReader(str(source)),
        FixedStrideSplitter(4),
        ClipCutter("copy"),
        DropFirst(),
        ClipWriter(str(out), mode),  # type: ignore[arg-type]
    ]
    return Pipeline("clips", stages=stages).run(LocalExecutor(0))


def names(folder: Path) -> set[str]:
    return {path.stem for path in folder.iterdir() if not path.name.startswith(("_", "."))}


def test_the_layout_is_that_of_nemo_curator(harbour: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run(harbour, out)
    clips, filtered = names(out / "clips"), names(out / "filtered_clips")
    assert (len(clips), len(filtered)) == (2, 1)
    assert names(out / "metas" / "v0") == clips | filtered
    pages = [json.loads((out / "metas" / "v0" / f"{name}.json").read_text()) for name in clips]
    page = min(pages, key=lambda one: one["duration_span"])
    assert page["duration_span"] == [4.0, 8.0]
    assert (page["width_source"], page["height_source"], page["framerate_source"]) == (320, 180, 25)
    assert page["motion_score"]["global_mean"] == 0.25
    assert page["cut"]["method"] == "copy"
    assert page["valid"]
    [name] = filtered
    page = json.loads((out / "metas" / "v0" / f"{name}.json").read_text())
    assert page["filtered"] == {"stage": "drop_first", "reason": "first"}


def test_the_index_has_a_row_for_each_clip(harbour: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run(harbour, out)
    rows = pq.read_table(out / "index").to_pylist()
    assert {row["clip_id"] for row in rows} == names(out / "clips")
    for row in rows:
        facts = probe(VideoSource(row["clip_location"]))
        assert facts.frames == row["frames"]
        assert Path(row["clip_location"]).stat().st_size == row["bytes"]
        assert row["motion_mean"] == 0.25


def test_a_second_run_does_nothing_and_foreign_files_are_kept(
    harbour: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    run(harbour, out)
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*.mp4")}
    run(harbour, out)
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*.mp4")} == before
    other = tmp_path / "other"
    (other / "clips").mkdir(parents=True)
    (other / "clips" / "mine.mp4").write_bytes(b"precious")
    with pytest.raises(OutputError, match=r"mine\.mp4"):
        run(harbour, other)
    assert (other / "clips" / "mine.mp4").read_bytes() == b"precious"


def test_uncut_clips_have_metadata_and_a_row(harbour: Path, tmp_path: Path) -> None:
    stages = [VideoReader(str(harbour)), FixedStrideSplitter(4), ClipWriter(str(tmp_path / "out"))]
    Pipeline("spans", stages=stages).run(LocalExecutor(0))
    rows = pq.read_table(tmp_path / "out" / "index").to_pylist()
    assert [row["clip_location"] for row in rows] == [None] * 3
    assert len(names(tmp_path / "out" / "metas" / "v0")) == 3


def test_stage_contract(harbour: Path, tmp_path: Path) -> None:
    source = VideoSource(str(harbour))
    span = ClipSpan(source, probe(source), 0.0, 2.0)
    check_stage(ClipWriter(str(tmp_path / "out")), Clip(span))


def test_null_columns_keep_their_types(harbour: Path) -> None:
    source = VideoSource(str(harbour))
    span = ClipSpan(source, probe(source), 0.0, 2.0)
    blind = Clip(span).with_scores(motion_patch_minimum=None)
    seeing = Clip(span).with_scores(motion_patch_minimum=0.5)
    tables = [
        index_table([index_row(blind, None)]),
        index_table([index_row(seeing, "clips/a.mp4")]),
    ]
    assert tables[0].schema == tables[1].schema


@dataclass
class FailsOnce(ProcessingStage[Clip, Clip]):
    flag: str

    def process(self, task: Clip) -> Clip:
        if task.data.start and not Path(self.flag).exists():
            Path(self.flag).touch()
            raise ValueError("not now")
        return task


def test_a_retried_clip_keeps_its_file(harbour: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    stages = [
        VideoReader(str(harbour)),
        FixedStrideSplitter(4),
        ClipCutter("copy"),
        FailsOnce(str(tmp_path / "flag")),
        ClipWriter(str(out)),
    ]
    pipeline = Pipeline("clips", stages=stages)
    result = pipeline.run(LocalExecutor(0), on_error="quarantine")
    assert len(names(out / "clips")) == 2
    pipeline.retry(str(result.run_dir), LocalExecutor(0))
    rows = pq.read_table(out / "index").to_pylist()
    assert {row["clip_id"] for row in rows} == names(out / "clips") == names(out / "metas" / "v0")
    assert all(row["frames"] for row in rows)
