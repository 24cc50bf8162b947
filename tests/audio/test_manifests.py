"""Manifests are read and written as NeMo does, and folders without any are taken as they are."""

import json
from pathlib import Path

from curator_audio import AudioBatch, AudioFolderReader, ManifestReader, ManifestWriter
from curator_audio.reading.folders import FolderReading
from curator_audio.reading.manifests import ManifestReading
from curator_core import FileGroup, LocalExecutor, Pipeline
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


def test_a_manifest_comes_back_as_it_was(tmp_path: Path) -> None:
    path = manifest(tmp_path)
    stages = [ManifestReader(str(path)), ManifestWriter(str(tmp_path / "out"))]
    Pipeline(name="copy", stages=stages).run(LocalExecutor())
    written = next((tmp_path / "out").glob("*.jsonl")).read_text().splitlines()
    first, second = (json.loads(line) for line in written)
    assert first["audio_filepath"] == f"{tmp_path}/clips/a.wav"
    assert list(second)[:4] == ["audio_filepath", "offset", "duration", "text"]
    assert {**second, "speaker": 0} == {**LINES[1], "speaker": 0}


def test_paths_begin_where_one_says(tmp_path: Path) -> None:
    path = manifest(tmp_path)
    reader = ManifestReader(str(path), audio_root="/data")
    batch = run_stage(ManifestReading(audio_root="/data"), FileGroup.of([str(path)]))[0]
    assert isinstance(batch, AudioBatch)
    assert batch.to_pylist()[0]["audio_filepath"] == "/data/clips/a.wav"
    assert [stage.name for stage in reader.decompose()] == [
        "manifest_reader_files",
        "manifest_reader",
    ]


def test_encoded_bytes_are_no_part_of_a_manifest(tmp_path: Path) -> None:
    batch = AudioBatch.from_pylist([{"text": "x", "audio": b"abc", "audio_filepath": "a.wav"}])
    run_stage(ManifestWriter(str(tmp_path)), batch)
    (written,) = tmp_path.iterdir()
    assert json.loads(written.read_text()) == {"audio_filepath": "a.wav", "text": "x"}


def test_a_folder_is_taken_with_its_texts(tmp_path: Path) -> None:
    put(tmp_path, "a.wav", wav(tone(1)))
    put(tmp_path, "a.txt", b" Hello there\n")
    put(tmp_path / "deep", "b.MP3", b"not looked at yet")
    result = Pipeline(name="folder", stages=[AudioFolderReader(str(tmp_path))]).run(LocalExecutor())
    assert [row for batch in result for row in batch.to_pylist()] == [
        {"audio_filepath": f"{tmp_path}/a.wav", "text": "Hello there"},
        {"audio_filepath": f"{tmp_path}/deep/b.MP3", "text": None},
    ]


def test_manifests_are_shared_by_workers_and_batches_are_small(tmp_path: Path) -> None:
    rows = [{"audio_filepath": f"clips/{n:06}.wav", "duration": 9.5} for n in range(1_000)]
    path = put(tmp_path, "all.jsonl", "".join(json.dumps(row) + "\n" for row in rows).encode())
    result = Pipeline(name="read", stages=[ManifestReader(path)]).run(LocalExecutor())
    names = [row["audio_filepath"] for batch in result for row in batch.to_pylist()]
    assert sorted(names) == [f"{tmp_path}/clips/{n:06}.wav" for n in range(1_000)]
    assert max(batch.num_items for batch in result) <= 32
    assert result.sources_done > 2
    whole = ManifestReader(path, blocksize="1MB")
    one = Pipeline(name="whole", stages=[whole]).run(LocalExecutor(), run_dir=f"{tmp_path}/run")
    assert one.sources_done == 1
    assert max(batch.num_items for batch in one) <= 32


def test_readers_keep_what_stages_promise(tmp_path: Path) -> None:
    put(tmp_path, "a.wav", wav(tone(1)))
    check_stage(FolderReading(), FileGroup.of([f"{tmp_path}/a.wav"]))
    check_stage(ManifestReading(), FileGroup.of([str(manifest(tmp_path))]))
