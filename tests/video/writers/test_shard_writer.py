"""Clips are written to reproducible WebDataset shards."""

import json
import tarfile
from pathlib import Path

import fsspec
import pyarrow.parquet as pq
from curator_core import LocalExecutor, Pipeline, RunResult
from curator_core.testing import check_stage
from curator_video.cutting.cutter import ClipCutter
from curator_video.filters.size import DurationFilter
from curator_video.fixed_stride import FixedStrideSplitter
from curator_video.probing import probe
from curator_video.reader import VideoReader
from curator_video.source import VideoSource
from curator_video.tasks import Clip, ClipSpan
from curator_video.writers.shard_writer import ClipShardWriter


def run(source: Path, out: Path, keep_filtered: bool = True) -> RunResult:
    stages = [
        VideoReader(str(source)),
        FixedStrideSplitter(5),
        ClipCutter("copy"),
        DurationFilter(min_s=3),
        ClipShardWriter(str(out), keep_filtered=keep_filtered),
    ]
    return Pipeline("clips", stages=stages).run(LocalExecutor(0))


def content(folder: Path) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for path in folder.glob("*.tar"):
        with tarfile.open(path) as tar:
            for member in tar:
                file = tar.extractfile(member)
                assert file
                found[member.name] = file.read()
    return found


def test_shards_hold_clips_and_metadata(harbour: Path, tmp_path: Path) -> None:
    run(harbour, tmp_path)
    files = content(tmp_path / "shards")
    rows = pq.read_table(tmp_path / "index").to_pylist()
    assert {row["start"] for row in rows} == {0.0, 5.0}
    for row in rows:
        name = row["clip_id"]
        with fsspec.open(row["clip_location"], "rb") as file:
            assert file.read() == files[f"{name}.mp4"]
        assert json.loads(files[f"{name}.json"])["duration_span"][0] == row["start"]
    assert len(files) == 4


def test_dropped_clips_go_to_separate_shards(harbour: Path, tmp_path: Path) -> None:
    run(harbour, tmp_path / "kept")
    files = content(tmp_path / "kept" / "filtered")
    [page] = [json.loads(data) for name, data in files.items() if name.endswith(".json")]
    assert page["filtered"] == {"stage": "duration_filter", "reason": "too short"}
    assert len(files) == 2
    run(harbour, tmp_path / "without", keep_filtered=False)
    assert not (tmp_path / "without" / "filtered").exists()


def test_shards_can_be_read_again(harbour: Path, tmp_path: Path) -> None:
    run(harbour, tmp_path / "out")
    again = Pipeline("read", stages=[VideoReader(str(tmp_path / "out" / "shards"))])
    videos = list(again.run(LocalExecutor(0), run_dir=str(tmp_path / "run")))
    assert sorted(video.metadata["json"]["duration_span"][0] for video in videos) == [0.0, 5.0]


def test_shards_are_reproducible(harbour: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        run(harbour, tmp_path / name)
    one, two = (
        {path.name: path.read_bytes() for path in (tmp_path / name / "shards").glob("*.tar")}
        for name in ("one", "two")
    )
    assert one.keys() == two.keys()
    assert [len(data) for data in one.values()] == [len(data) for data in two.values()]


def test_stage_contract(harbour: Path, tmp_path: Path) -> None:
    source = VideoSource(str(harbour))
    check_stage(ClipShardWriter(str(tmp_path)), Clip(ClipSpan(source, probe(source), 0.0, 2.0)))
