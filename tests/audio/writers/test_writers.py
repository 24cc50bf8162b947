"""Rows become files, shards and Parquet, and decode to the same samples."""

import json
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from curator_audio import SPEECH, AudioBatch, AudioEncoder, SegmentWriter, ShardWriter
from curator_audio.decoding import decode
from curator_audio.encoding import encode
from curator_audio.waveform import NATIVE, Waveform
from curator_audio.writers.encoder import BATCH_BYTES, segment_name
from curator_audio.writers.segments import SegmentFiles
from curator_core import AnyStage, LocalExecutor, ParquetWriter, Pipeline
from curator_core.testing import check_stage, run_stage, run_stages
from sounds import put, tone, voice, wav

Problems = Callable[[AnyStage], list[str]]


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
def test_memory_does_not_grow_with_a_long_recording(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _LONG_JOB, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    (line,) = next((tmp_path / "out").glob("*.jsonl")).read_text().splitlines()
    assert json.loads(line)["duration"] == 1_200
    assert int(done.stdout) < 300, "megabytes"


def test_a_truncated_recording_leaves_no_file(tmp_path: Path) -> None:
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


def test_segments_are_files_with_a_manifest(tmp_path: Path) -> None:
    task = segments(tmp_path)
    original = task.waveforms(SPEECH).values
    out = tmp_path / "out"
    Pipeline(name="cut", stages=[SegmentWriter(str(out))]).run(
        LocalExecutor(workers=0), tasks=[task]
    )
    rows = [json.loads(line) for line in next(out.glob("*.jsonl")).read_text().splitlines()]
    assert [row["duration"] for row in rows] == [2.5, 1.0]
    assert [row["source_offset"] for row in rows] == [1.0, 9.0]
    assert rows[0]["audio_filepath"].startswith("audio/a_b-000001000-")
    for row, wave in zip(rows, original, strict=True):
        heard = decode(str(out / row["audio_filepath"]), NATIVE)
        np.testing.assert_allclose(heard.samples, wave.samples, atol=5e-5)
        assert not {"offset", "gain_db", "audio"} & set(row)


def test_shards_keep_the_files_of_a_sample_together(tmp_path: Path) -> None:
    run_stage(ShardWriter(str(tmp_path / "out")), segments(tmp_path))
    (shard,) = (tmp_path / "out").iterdir()
    with tarfile.open(shard) as archive:
        names = archive.getnames()
        files = {name: archive.extractfile(name) for name in names}
        text = files[names[2]]
        assert text is not None
        assert text.read() == b"one"
    assert [name.partition(".")[2] for name in names] == ["flac", "json", "txt", "flac", "json"]


def test_encoded_bytes_in_parquet_are_decoded(tmp_path: Path) -> None:
    stages = [AudioEncoder("opus"), ParquetWriter(str(tmp_path / "out"))]
    run_stages(stages, [segments(tmp_path)])
    table = pq.read_table(next((tmp_path / "out").iterdir()))
    heard = AudioBatch(table).waveforms(SPEECH)
    assert [round(wave.seconds, 1) for wave in heard.values] == [2.5, 1.0]


def test_large_outputs_are_emitted_in_several_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert BATCH_BYTES > 10**6
    monkeypatch.setattr("curator_audio.writers.encoder.BATCH_BYTES", 10_000)
    path = put(tmp_path, "a.wav", wav(voice(30)))
    rows = [{"audio_filepath": path, "offset": float(n), "duration": 1.0} for n in range(20)]
    made = run_stage(AudioEncoder(), AudioBatch.from_pylist([*rows, {"audio_filepath": path}]))
    assert len(made) > 5
    assert sum(batch.num_items for batch in made) == 21


def test_a_run_publishes_all_files_under_distinct_names(tmp_path: Path) -> None:
    from curator_audio import AudioFolderReader

    for folder in ("x", "y"):
        put(tmp_path / folder, "a.wav", wav(tone(1)))
    stages = [AudioFolderReader([f"{tmp_path}/x", f"{tmp_path}/y"]), SegmentWriter(f"{tmp_path}/o")]
    Pipeline(name="copy", stages=stages).run(LocalExecutor(workers=0))
    assert len(list((tmp_path / "o" / "audio").glob("*.flac"))) == 2
    assert segment_name("/x/a.wav", None, None) != segment_name("/y/a.wav", None, None)
    assert segment_name("", None, None).startswith("audio-000000000-")


def test_invalid_options_are_reported(tmp_path: Path, problems: Problems) -> None:
    assert problems(AudioEncoder("ogg")) == [  # type: ignore[arg-type]
        "format is 'ogg'"
    ]
    assert problems(AudioEncoder("opus", 44_100)) == ["sample_rate is 44100"]
    assert problems(AudioEncoder(channels=-1)) == ["channels is -1"]
    twelve = put(tmp_path, "many.wav", wav(np.vstack([tone(1)] * 12)))
    task = AudioBatch.from_pylist([{"audio_filepath": twelve}, {"audio_filepath": twelve}])
    run = run_stages([AudioEncoder("flac", None, "all")], [task], on_error="quarantine")
    assert run.counts.items_rejected == 2
    assert list(SegmentFiles(str(tmp_path), format="ogg").check())  # type: ignore[arg-type]


def test_stages_pass_the_contract(tmp_path: Path) -> None:
    check_stage(AudioEncoder(), segments(tmp_path))
    check_stage(SegmentFiles(str(tmp_path / "out")), segments(tmp_path))
