"""Folders like those of LibriSpeech and FLEURS are read with their transcripts."""

from pathlib import Path

import pytest
from curator_audio import (
    SPEECH,
    FleursReader,
    LibriSpeechReader,
)
from curator_core import LocalExecutor, Pipeline
from reader_outputs import batches_of, read
from sounds import encoded, put, tone, wav


def test_folders_of_libri_speech(tmp_path: Path) -> None:
    folder = tmp_path / "dev-clean" / "84" / "121"
    put(folder, "84-121-0000.flac", encoded(tone(1), 16_000, "flac"))
    text = "84-121-0000 GO DO YOU HEAR\nnothing\n\n84-121-0001 BUT IN LESS\n"
    put(folder, "84-121.trans.txt", text.encode())
    (batch,), wrong = read(LibriSpeechReader(str(tmp_path)))
    assert wrong == [
        f"{folder}/84-121.trans.txt line 2: not a name followed by a text",
    ]
    decoded = batch.waveforms(SPEECH)
    assert decoded.batch.to_pylist() == [
        {
            "audio_filepath": f"{folder}/84-121-0000.flac",
            "text": "GO DO YOU HEAR",
            "speaker": "84",
            "chapter": "121",
        }
    ]
    assert [one.reason for one in decoded.rejected] == ["the file does not exist"]


@pytest.mark.parametrize("recordings", ["audio/dev", "dev"])
def test_folders_of_fleurs(tmp_path: Path, recordings: str) -> None:
    folder = tmp_path / "de_de"
    put(folder / recordings, "1.wav", wav(tone(1)))
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
