"""Manifests are read and written in NeMo's format, and folders are read without one."""

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from curator_audio import (
    AudioBatch,
    AudioFolderReader,
    AudioParquetReader,
    ManifestReader,
    ManifestWriter,
    SegmentConcatenator,
    SegmentJoiner,
)
from curator_audio.readers.folder import FolderReading
from curator_audio.readers.manifest import ManifestReading
from curator_core import CuratorError, FileGroup, LocalExecutor, Pipeline
from curator_core.testing import check_stage, run_stage
from sounds import put, tone, wav

LINES = [
    {"audio_filepath": "clips/a.wav", "duration": 1.5, "text": "one", "speaker": "x"},
    {"audio_filepath": "/elsewhere/b.wav", "duration": 2.0, "text": "two", "offset": 3.25},
]


def manifest(folder: Path) -> Path:
    path = folder / "train.json"
    path.write_text("".join(json.dumps(line) + "\n" for line in LINES))
    return path


def test_a_written_manifest_equals_the_one_read(tmp_path: Path) -> None:
    path = manifest(tmp_path)
    stages = [ManifestReader(str(path)), ManifestWriter(str(tmp_path / "out"))]
    Pipeline(name="copy", stages=stages).run(LocalExecutor(workers=0))
    written = next((tmp_path / "out").glob("*.jsonl")).read_text().splitlines()
    first, second = (json.loads(line) for line in written)
    assert first["audio_filepath"] == f"{tmp_path}/clips/a.wav"
    assert list(second)[:4] == ["audio_filepath", "offset", "duration", "text"]
    assert {**second, "speaker": 0} == {**LINES[1], "speaker": 0}


def test_relative_paths_are_resolved_against_audio_root(tmp_path: Path) -> None:
    path = manifest(tmp_path)
    reader = ManifestReader(str(path), audio_root="/data")
    batch = run_stage(ManifestReading(audio_root="/data"), FileGroup.of([str(path)]))[0]
    assert isinstance(batch, AudioBatch)
    assert batch.to_pylist()[0]["audio_filepath"] == "/data/clips/a.wav"
    assert [stage.name for stage in reader.decompose()] == [
        "manifest_reader_files",
        "manifest_reader",
    ]


def test_encoded_bytes_are_not_written_to_a_manifest(tmp_path: Path) -> None:
    batch = AudioBatch.from_pylist([{"text": "x", "audio": b"abc", "audio_filepath": "a.wav"}])
    run_stage(ManifestWriter(str(tmp_path)), batch)
    (written,) = tmp_path.iterdir()
    assert json.loads(written.read_text()) == {"audio_filepath": "a.wav", "text": "x"}


def test_a_folder_is_read_with_its_text_files(tmp_path: Path) -> None:
    put(tmp_path, "a.wav", wav(tone(1)))
    put(tmp_path, "a.txt", b" Hello there\n")
    put(tmp_path / "deep", "b.MP3", b"not looked at yet")
    result = Pipeline(name="folder", stages=[AudioFolderReader(str(tmp_path))]).run(
        LocalExecutor(workers=0)
    )
    assert [row for batch in result for row in batch.to_pylist()] == [
        {"audio_filepath": f"{tmp_path}/a.wav", "text": "Hello there"},
        {"audio_filepath": f"{tmp_path}/deep/b.MP3", "text": None},
    ]


def test_manifests_are_split_among_workers_into_small_batches(tmp_path: Path) -> None:
    rows = [{"audio_filepath": f"clips/{n:06}.wav", "duration": 9.5} for n in range(1_000)]
    path = put(tmp_path, "all.jsonl", "".join(json.dumps(row) + "\n" for row in rows).encode())
    result = Pipeline(name="read", stages=[ManifestReader(path)]).run(LocalExecutor())
    names = [row["audio_filepath"] for batch in result for row in batch.to_pylist()]
    assert sorted(names) == [f"{tmp_path}/clips/{n:06}.wav" for n in range(1_000)]
    assert max(batch.num_items for batch in result) <= 32
    assert result.sources_done > 2
    whole = ManifestReader(path, blocksize="1MB")
    executor = LocalExecutor(workers=0)
    one = Pipeline(name="whole", stages=[whole]).run(executor, run_dir=f"{tmp_path}/run")
    assert one.sources_done == 1
    assert max(batch.num_items for batch in one) <= 32


def segments(recording: str, count: int) -> list[dict[str, Any]]:
    """Segments of half a second, with a pause after every third."""
    starts = [n + 2.0 * (n // 3) for n in range(count)]
    return [{"audio_filepath": recording, "offset": at, "duration": 1.0} for at in starts]


def joined(
    folder: Path, manifests: str | list[str], *, workers: int = 0, **options: Any
) -> Counter[str]:
    """Return how many segments each recording has after joining."""
    stages = [ManifestReader(manifests, **options), SegmentJoiner(max_gap=0.5)]
    run_dir = str(folder / f"run{sum(1 for _ in folder.iterdir())}")
    result = Pipeline(name="join", stages=stages).run(
        LocalExecutor(workers=workers), run_dir=run_dir
    )
    return Counter(row["audio_filepath"] for batch in result for row in batch.to_pylist())


@pytest.mark.parametrize("ends_with_newline", [True, False])
@pytest.mark.parametrize("options", [{}, {"blocksize": "1KB"}, {"files_per_partition": 1}])
def test_segments_of_a_recording_stay_together_and_are_joined(
    tmp_path: Path, options: dict[str, Any], ends_with_newline: bool
) -> None:
    counts = {"/a.wav": 300, "/b.wav": 30, "/c.wav": 3, "/d.wav": 210}
    lines = [json.dumps(row) for name, count in counts.items() for row in segments(name, count)]
    text = "\n".join(lines) + "\n" * ends_with_newline
    path = put(tmp_path, "m.jsonl", text.encode())
    workers = 0 if options else 2
    assert joined(tmp_path, path, workers=workers, **options) == {
        name: n // 3 for name, n in counts.items()
    }


def test_segments_in_a_compressed_manifest_are_joined(tmp_path: Path) -> None:
    lines = [json.dumps(row) + "\n" for row in segments("/a.wav", 300)]
    path = put(tmp_path, "m.jsonl.gz", gzip.compress("".join(lines).encode()))
    assert joined(tmp_path, path) == {"/a.wav": 100}


def test_scattered_segments_are_read_but_joining_them_is_an_error(tmp_path: Path) -> None:
    rows = [*segments("a.wav", 50), *segments("b.wav", 50)]
    mixed = put(tmp_path, "mixed.jsonl", "\n".join(map(json.dumps, [*rows, rows[0]])).encode())
    one = put(tmp_path, "one.jsonl", json.dumps(rows[0]).encode())
    two = put(tmp_path, "two.jsonl", json.dumps(rows[1]).encode())
    for manifests, places in (
        (mixed, (f"{mixed} line 1", f"{mixed} line 101")),
        ([one, two], (f"{one} line 1", f"{two} line 1")),
    ):
        read = Pipeline(name="read", stages=[ManifestReader(manifests)])
        assert sum(batch.num_items for batch in read.run(LocalExecutor(workers=0))) > 1
        with pytest.raises(CuratorError) as refused:
            joined(tmp_path, manifests)
        for fact in (f"{tmp_path}/a.wav", "sort", *places):
            assert fact in str(refused.value)


def test_joining_segments_from_other_readers_is_an_error(tmp_path: Path) -> None:
    rows = [{"audio": wav(tone(1)), "offset": 0.0, "duration": 0.5}]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "rows.parquet")
    for stage in (SegmentJoiner(), SegmentConcatenator()):
        stages = [AudioParquetReader(f"{tmp_path}/rows.parquet"), stage]
        with pytest.raises(CuratorError, match="manifest_reader"):
            Pipeline(name=stage.name, stages=stages).run(LocalExecutor(workers=0))


def test_stages_pass_the_contract(tmp_path: Path) -> None:
    put(tmp_path, "a.wav", wav(tone(1)))
    check_stage(FolderReading(), FileGroup.of([f"{tmp_path}/a.wav"]))
    check_stage(ManifestReading(), FileGroup.of([str(manifest(tmp_path))]))
