"""Shards, Parquet and folders of corpora are read, including files that our writers wrote."""

import io
import json
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from curator_audio import (
    SPEECH,
    AudioBatch,
    AudioEncoder,
    AudioParquetReader,
    FleursReader,
    LibriSpeechReader,
    ManifestReader,
    SegmentWriter,
    ShardReader,
    ShardWriter,
)
from curator_core import AnyStage, Empty, LocalExecutor, ParquetWriter, Pipeline
from curator_core.testing import run_stages
from sounds import encoded, put, tone, voice, wav


def tar(path: Path, members: Mapping[str, bytes], mode: str = "w") -> Path:
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for name, data in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return path


def read(stage: AnyStage) -> tuple[list[AudioBatch], list[str]]:
    """Return the outputs of a reader, and the reasons of its rejections."""
    run = run_stages([stage], [Empty()], on_error="quarantine")
    parts = run.report.parts.values()
    problems = [f"{one.where}: {one.reason}" for part in parts for one in part.quarantined]
    return batches_of(run.outputs), problems


def batches_of(outputs: Sequence[object]) -> list[AudioBatch]:
    batches = [batch for batch in outputs if isinstance(batch, AudioBatch)]
    assert len(batches) == len(outputs)
    return batches


SEGMENTS = [
    {"offset": 1.0, "duration": 2.5, "text": "one", "speaker": 3},
    {"offset": 9.0, "duration": 1.0, "text": None, "speaker": 4},
]


@pytest.mark.parametrize("kind", ["flac", "wav", "opus"])
@pytest.mark.parametrize("way", ["files", "shards", "parquet"])
def test_written_recordings_can_be_read_again(tmp_path: Path, way: str, kind: str) -> None:
    path = put(tmp_path, "a b.wav", wav(voice(12), floats=True))
    task = AudioBatch.from_pylist([{"audio_filepath": path, **row} for row in SEGMENTS])
    original = task.waveforms(SPEECH).values
    out = str(tmp_path / "out")
    ways: dict[str, tuple[list[AnyStage], AnyStage]] = {
        "files": ([SegmentWriter(out, kind)], ManifestReader(out)),  # type: ignore[arg-type]
        "shards": ([ShardWriter(out, kind)], ShardReader(out)),  # type: ignore[arg-type]
        "parquet": ([AudioEncoder(kind), ParquetWriter(out)], AudioParquetReader(out)),  # type: ignore[arg-type]
    }
    writing, reading = ways[way]
    Pipeline(name="cut", stages=writing).run(LocalExecutor(workers=0), tasks=[task])
    (back,), wrong = read(reading)
    assert not wrong
    rows = back.to_pylist()
    assert [(row["text"], row["speaker"], row["source_offset"]) for row in rows] == [
        ("one", 3, 1.0),
        (None, 4, 9.0),
    ]
    for wave, row, before in zip(back.waveforms(SPEECH).values, rows, original, strict=True):
        assert row["duration"] == before.seconds
        if kind == "opus":
            assert abs(wave.seconds - before.seconds) < 0.05
            assert 0.8 < np.abs(wave.samples).mean() / np.abs(before.samples).mean() < 1.2
        else:
            np.testing.assert_allclose(wave.samples, before.samples, atol=5e-5)


def test_shards_of_other_tools_are_read(tmp_path: Path) -> None:
    sound, other = encoded(tone(1), 16_000, "flac"), encoded(tone(2), 16_000, "mp3")
    members = {
        "deep/a.1.flac": sound,
        "deep/a.json": json.dumps({"duration": 9, "words": ["x"]}).encode(),
        "deep/a.txt": "gesagt: ü\n".encode(),
        "deep/b.cls": b"7",
        "deep/b.mp3": other,
        "README": b"no sample",
    }
    tar(tmp_path / "0.tar", members)
    tar(tmp_path / "1.tar.gz", members, "w:gz")
    batches, wrong = read(ShardReader(str(tmp_path)))
    assert not wrong
    rows = [row for batch in batches for row in batch.to_pylist()]
    assert [row["text"] for row in rows] == ["gesagt: ü", None] * 2
    assert rows[0]["audio_filepath"] == f"{tmp_path}/0.tar/deep/a.1.flac"
    heard = [w.seconds for batch in batches for w in batch.waveforms(SPEECH).values]
    assert [round(seconds, 1) for seconds in heard] == [1.0, 2.0] * 2


def test_problems_of_a_shard_are_reported(tmp_path: Path) -> None:
    sound = wav(tone(1))
    good = tar(
        tmp_path / "a.tar",
        {
            "none.json": b"{}",
            "two.wav": sound,
            "two.mp3": sound,
            "odd.wav": sound,
            "odd.json": b"{",
            "list.wav": sound,
            "list.json": b"[]",
            "good.wav": sound,
            "long.wav": sound * 2,
            "last.wav": sound,
        },
    )
    batches, wrong = read(ShardReader(str(good), max_file_bytes=40_000))
    assert [row["audio_filepath"][-8:] for row in batches[0].to_pylist()] == [
        "good.wav",
        "last.wav",
    ]
    assert [one.partition("key ")[2] for one in wrong] == [
        "'none': it has no recording",
        "'two': it has two recordings, two.wav and two.mp3",
        "'odd': odd.json is not valid JSON: unexpected end of data: line 1 column 2 (char 1)",
        "'list': list.json is not a JSON object",
        "'long': long.wav has 64,088 bytes, more than 40,000; set max_file_bytes",
    ]


def test_samples_before_the_end_of_a_truncated_shard_are_kept(tmp_path: Path) -> None:
    whole = tar(tmp_path / "whole.tar", {f"{n}.wav": wav(tone(1)) for n in range(3)})
    cut = put(tmp_path / "cut", "cut.tar", whole.read_bytes()[:70_000])
    batches, wrong = read(ShardReader(cut))
    assert sum(batch.num_items for batch in batches) == 2
    assert wrong == [
        f"{cut}: the shard is damaged within '2': unexpected end of data; the rest of it is skipped"
    ]
    put(tmp_path / "other", "a.tar", b"plain text " * 100)
    put(tmp_path / "other", "b.tar", b"")
    put(tmp_path / "other", "c.tar", whole.read_bytes())
    batches, wrong = read(ShardReader(str(tmp_path / "other")))
    assert sum(batch.num_items for batch in batches) == 3
    assert [one.rpartition(": ")[2] for one in wrong] == [
        "it is not a tar file",
        "it is empty (0 bytes)",
    ]


def test_parquet_of_datasets_is_read(tmp_path: Path) -> None:
    rows = [
        {"clip": {"bytes": wav(tone(1)), "path": "a.wav"}, "sentence": "one"},
        {"clip": {"bytes": wav(tone(2)), "path": None}, "sentence": "two"},
        {"clip": {"bytes": None, "path": None}, "sentence": "three"},
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")
    reader = AudioParquetReader(
        str(tmp_path), fields=["sentence"], text_field=None, audio_field="clip"
    )
    (batch,), _ = read(reader)
    assert batch.columns() == ("audio_filepath", "sentence", "audio")
    heard = batch.waveforms(SPEECH)
    assert [wave.seconds for wave in heard.values] == [1.0, 2.0]
    assert [one.reason for one in heard.rejected] == ["the file does not exist"]
    _, wrong = read(AudioParquetReader(str(tmp_path), audio_field="sentence"))
    assert "is string, not bytes; set another audio_field" in wrong[0]


def test_folders_of_libri_speech(tmp_path: Path) -> None:
    folder = tmp_path / "dev-clean" / "84" / "121"
    put(folder, "84-121-0000.flac", encoded(tone(1), 16_000, "flac"))
    text = "84-121-0000 GO DO YOU HEAR\nnothing\n\n84-121-0001 BUT IN LESS\n"
    put(folder, "84-121.trans.txt", text.encode())
    (batch,), wrong = read(LibriSpeechReader(str(tmp_path)))
    assert wrong == [
        f"{folder}/84-121.trans.txt line 2: not a name followed by a text",
    ]
    heard = batch.waveforms(SPEECH)
    assert heard.batch.to_pylist() == [
        {
            "audio_filepath": f"{folder}/84-121-0000.flac",
            "text": "GO DO YOU HEAR",
            "speaker": "84",
            "chapter": "121",
        }
    ]
    assert [one.reason for one in heard.rejected] == ["the file does not exist"]


@pytest.mark.parametrize("place", ["audio/dev", "dev"])
def test_folders_of_fleurs(tmp_path: Path, place: str) -> None:
    folder = tmp_path / "de_de"
    put(folder / place, "1.wav", wav(tone(1)))
    line = "17\t1.wav\tGuten Tag, Welt!\tguten tag welt\tg u t e n\t16000\tFEMALE\n"
    put(folder, "dev.tsv", (line + "17\tx\n").encode())
    (batch,), wrong = read(FleursReader(str(folder), normalized=True))
    assert wrong == [f"{folder}/dev.tsv line 2: fewer than six tab-separated columns"]
    assert batch.waveforms(SPEECH).values[0].seconds == 1.0
    (row,) = batch.to_pylist()
    assert {name: row[name] for name in ("duration", "text", "sentence", "gender")} == {
        "duration": 1.0,
        "text": "guten tag welt",
        "sentence": "17",
        "gender": "FEMALE",
    }
    ((plain,), _) = read(FleursReader(str(folder / "dev.tsv")))
    assert plain.to_pylist()[0]["text"] == "Guten Tag, Welt!"


def test_tables_of_fleurs_are_split_among_workers(tmp_path: Path) -> None:
    line = "{n}\t{n}.wav\tGuten Tag\u2028Welt\tguten tag\tg u t e n\t16000\tMALE\r\n"
    put(tmp_path, "dev.tsv", "".join(line.format(n=n) for n in range(500)).encode())
    result = Pipeline(name="read", stages=[FleursReader(str(tmp_path))]).run(LocalExecutor())
    rows = [row for batch in batches_of(list(result)) for row in batch.to_pylist()]
    assert sorted(int(row["sentence"]) for row in rows) == list(range(500))
    assert {(row["text"], row["gender"]) for row in rows} == {("Guten Tag\u2028Welt", "MALE")}
    assert result.sources_done == 2
