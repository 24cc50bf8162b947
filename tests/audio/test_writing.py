"""Rows become files, shards and Parquet, and are heard again as they were."""

import io
import json
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import get_args

import numpy as np
import pyarrow.parquet as pq
import pytest
from curator_audio import SPEECH, AudioBatch, AudioEncoder, SegmentWriter, ShardWriter
from curator_audio.decoding import decode
from curator_audio.encoding import Encoder, Format, encode
from curator_audio.forms import NATIVE
from curator_audio.opening import UndecodableError
from curator_audio.waveforms import Waveform
from curator_audio.writing.encoders import BATCH_BYTES
from curator_audio.writing.naming import name_of
from curator_audio.writing.segments import SegmentFiles
from curator_core import LocalExecutor, ParquetWriter, Pipeline
from curator_core.testing import check_stage, run_stage, run_stages
from sounds import put, tone, voice, wav


def segments(folder: Path) -> AudioBatch:
    path = put(folder, "a b.wav", wav(voice(12), floats=True))
    return AudioBatch.from_pylist(
        [
            {"audio_filepath": path, "offset": 1.0, "duration": 2.5, "text": "one", "gain_db": 0.0},
            {
                "audio_filepath": path,
                "offset": 9.0,
                "duration": 1.0,
                "text": None,
                "gain_db": -6.02,
            },
        ]
    )


@pytest.mark.parametrize("channels", [1, 2, 6])
@pytest.mark.parametrize("kind", ["flac", "wav"])
def test_what_is_encoded_is_heard_again(kind: str, channels: int) -> None:
    samples = np.vstack([tone(1.01, level=0.1 * (n + 1)) for n in range(channels)])
    data = encode(Waveform(samples, 16_000), kind)  # type: ignore[arg-type]
    assert data == encode(Waveform(samples, 16_000), kind)  # type: ignore[arg-type]
    np.testing.assert_allclose(decode(data, NATIVE).samples, samples, atol=5e-5)


@pytest.mark.parametrize("kind", get_args(Format))
def test_a_file_does_not_depend_on_its_blocks(kind: Format) -> None:
    samples = np.vstack([voice(3), tone(3)])
    file = io.BytesIO()
    encoder = Encoder(file, kind)
    for piece in np.split(samples, [1, 700, 30_000], axis=1):
        encoder.write(Waveform(piece, 16_000))
    encoder.close()
    assert file.getvalue() == encode(Waveform(samples, 16_000), kind)
    assert encoder.seconds == 3.0


def test_wav_that_would_be_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("curator_audio.encoding._LARGEST_WAV", 30_000)
    with pytest.raises(UndecodableError, match="flac"):
        encode(Waveform(tone(1), 16_000), "wav")


_LONG_JOB = """
import struct
import sys
from curator_audio import AudioBatch, SegmentWriter
from curator_core import LocalExecutor, Pipeline

folder, data = sys.argv[1], 20 * 60 * 16_000 * 2
head = struct.pack("<4sI4s4sIHHIIHH4sI", b"RIFF", 36 + data, b"WAVE", b"fmt ", 16, 1, 1, 16_000,
                   32_000, 2, 16, b"data", data)
with open(f"{folder}/long.wav", "wb") as file:
    file.write(head)
    file.truncate(len(head) + data)
task = AudioBatch.from_pylist([{"audio_filepath": f"{folder}/long.wav"}])
writer = SegmentWriter(f"{folder}/out")
Pipeline("long", stages=[writer]).run(LocalExecutor(workers=0), tasks=[task])
status = open("/proc/self/status").read()
print(int(status.partition("VmHWM:")[2].split()[0]) // 1024)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
def test_a_long_recording_needs_no_more_memory(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _LONG_JOB, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    (line,) = next((tmp_path / "out").glob("*.jsonl")).read_text().splitlines()
    assert json.loads(line)["duration"] == 1_200
    assert int(done.stdout) < 300, "megabytes"


def test_a_recording_that_breaks_off_leaves_no_file(tmp_path: Path) -> None:
    path = put(tmp_path, "cut.flac", encode(Waveform(voice(40), 16_000), "flac")[:-90_000])
    task = AudioBatch.from_pylist(
        [{"audio_filepath": path, "offset": 0.0, "duration": 2.0}, {"audio_filepath": path}]
    )
    out = tmp_path / "out"

    result = Pipeline("cut", stages=[SegmentWriter(str(out))]).run(
        LocalExecutor(workers=0), tasks=[task], on_error="quarantine"
    )

    assert len(result.quarantined) == 1
    (written,) = [path for path in (out / "audio").iterdir() if path.name != "_manifest.json"]
    assert decode(str(written), NATIVE).seconds == 2.0


def test_opus_sounds_alike_and_one_sample_is_a_file() -> None:
    heard = decode(encode(Waveform(tone(2), 16_000), "opus"), SPEECH)
    assert abs(heard.seconds - 2) < 0.01
    assert int(np.abs(np.fft.rfft(heard.samples[0, 8_000:24_000])).argmax()) == 440
    one = np.full((1, 1), 0.5, np.float32)
    assert decode(encode(Waveform(one, 16_000), "flac"), NATIVE).samples.shape == (1, 1)


def test_segments_are_files_with_a_manifest(tmp_path: Path) -> None:
    task = segments(tmp_path)
    original = task.waveforms(SPEECH).values
    out = tmp_path / "out"
    Pipeline(name="cut", stages=[SegmentWriter(str(out))]).run(LocalExecutor(), tasks=[task])
    rows = [json.loads(line) for line in next(out.glob("*.jsonl")).read_text().splitlines()]
    assert [row["duration"] for row in rows] == [2.5, 1.0]
    assert [row["source_offset"] for row in rows] == [1.0, 9.0]
    assert rows[0]["audio_filepath"].startswith("audio/a_b-000001000-")
    for row, wave in zip(rows, original, strict=True):
        heard = decode(str(out / row["audio_filepath"]), NATIVE)
        np.testing.assert_allclose(heard.samples, wave.samples, atol=5e-5)
        assert not {"offset", "gain_db", "audio"} & set(row)


def test_shards_hold_what_belongs_together(tmp_path: Path) -> None:
    run_stage(ShardWriter(str(tmp_path / "out")), segments(tmp_path))
    (shard,) = (tmp_path / "out").iterdir()
    with tarfile.open(shard) as archive:
        names = archive.getnames()
        files = {name: archive.extractfile(name) for name in names}
        text = files[names[2]]
        assert text is not None
        assert text.read() == b"one"
    assert [name.partition(".")[2] for name in names] == ["flac", "json", "txt", "flac", "json"]


def test_parquet_takes_the_bytes_and_they_are_heard(tmp_path: Path) -> None:
    stages = [AudioEncoder("opus"), ParquetWriter(str(tmp_path / "out"))]
    run_stages(stages, [segments(tmp_path)])
    table = pq.read_table(next((tmp_path / "out").iterdir()))
    heard = AudioBatch(table).waveforms(SPEECH)
    assert [round(wave.seconds, 1) for wave in heard.values] == [2.5, 1.0]


def test_many_recordings_come_in_several_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert BATCH_BYTES > 10**6
    monkeypatch.setattr("curator_audio.writing.encoders.BATCH_BYTES", 10_000)
    path = put(tmp_path, "a.wav", wav(voice(30)))
    rows = [{"audio_filepath": path, "offset": float(n), "duration": 1.0} for n in range(20)]
    made = run_stage(AudioEncoder(), AudioBatch.from_pylist([*rows, {"audio_filepath": path}]))
    assert len(made) > 5
    assert sum(batch.num_items for batch in made) == 21


def test_a_run_publishes_all_and_names_tell_apart(tmp_path: Path) -> None:
    from curator_audio import AudioFolderReader

    for folder in ("x", "y"):
        put(tmp_path / folder, "a.wav", wav(tone(1)))
    stages = [AudioFolderReader([f"{tmp_path}/x", f"{tmp_path}/y"]), SegmentWriter(f"{tmp_path}/o")]
    Pipeline(name="copy", stages=stages).run(LocalExecutor())
    assert len(list((tmp_path / "o" / "audio").glob("*.flac"))) == 2
    assert name_of("/x/a.wav", None, None) != name_of("/y/a.wav", None, None)
    assert name_of("", None, None).startswith("audio-000000000-")


def test_mistakes_are_told(tmp_path: Path) -> None:
    assert list(AudioEncoder("ogg").check()) == [  # type: ignore[arg-type]
        "format is 'ogg', but must be one of flac, wav, opus"
    ]
    assert list(AudioEncoder("opus", 44_100).check()) == [
        "sample_rate is 44100, but opus takes 8000, 12000, 16000, 24000, 48000"
    ]
    assert list(AudioEncoder(channels=-1).check()) == [
        "channels is -1, but must be mono, all, or a number from 0"
    ]
    twelve = put(tmp_path, "many.wav", wav(np.vstack([tone(1)] * 12)))
    task = AudioBatch.from_pylist([{"audio_filepath": twelve}, {"audio_filepath": twelve}])
    run = run_stages([AudioEncoder("flac", None, "all")], [task], on_error="quarantine")
    assert run.counts.items_rejected == 2
    assert list(SegmentFiles(str(tmp_path), format="ogg").check())  # type: ignore[arg-type]


def test_stages_keep_what_stages_promise(tmp_path: Path) -> None:
    check_stage(AudioEncoder(), segments(tmp_path))
    check_stage(SegmentFiles(str(tmp_path / "out")), segments(tmp_path))
