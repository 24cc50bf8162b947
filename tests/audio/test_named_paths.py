"""Paths in records: a forbidden one is quarantined alone, and private hosts are not contacted."""

import socket
from pathlib import Path

import pyarrow as pa
from curator_audio import AudioMeasurer
from curator_audio.audio_batch import AudioBatch
from curator_core.testing import run_stages
from sounds import voice, wav


def test_a_forbidden_path_is_rejected_alone(tmp_path: Path) -> None:
    (tmp_path / "good.wav").write_bytes(wav(voice(1)))
    good = str(tmp_path / "good.wav")
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        here = f"127.0.0.1:{server.getsockname()[1]}"
        refused = [f"ftp://{here}/a.wav", f"http://{here}/a.wav", "foo://a.wav", "a\0b.wav",
                   "reference://a::b", f"tar://a.wav::http://{here}/a.tar"]  # fmt: skip
        table = pa.table({"audio_filepath": [good, *refused, good]})
        run = run_stages([AudioMeasurer()], [AudioBatch(table)], on_error="quarantine")
        asked = True
        try:
            server.accept()
        except BlockingIOError:
            asked = False
    assert not asked
    assert [row for batch in run.outputs for row in batch.data["audio_filepath"].to_pylist()] == [
        good,
        good,
    ]
    assert len(run.report.quarantined) == len(refused)
    assert not any(record.whole_task for record in run.report.quarantined)
