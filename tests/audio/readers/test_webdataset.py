"""Shards of WebDataset are read, up to damage, and problems are reported."""

import json
from pathlib import Path

from curator_audio import (
    SPEECH,
    ShardReader,
)
from reader_outputs import read, tar
from sounds import encoded, put, tone, wav


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
    decoded = [w.seconds for batch in batches for w in batch.waveforms(SPEECH).values]
    assert [round(seconds, 1) for seconds in decoded] == [1.0, 2.0] * 2


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
