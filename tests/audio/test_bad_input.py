"""Bad recordings are quarantined alone, each with its reason, and the run continues."""

import io
import json
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pytest
from curator_audio import (
    AudioBatch,
    AudioMeasurer,
    ConversationBuilder,
    LongSplitter,
    ManifestReader,
    SegmentExtractor,
    SegmentJoiner,
    SegmentWriter,
    SpeechFinder,
)
from curator_audio.decoding import decode
from curator_audio.waveform import NATIVE
from curator_core import AnyStage, LocalExecutor, Pipeline
from curator_core.testing import run_stages
from fsspec.implementations.memory import MemoryFileSystem
from sounds import encoded, put, tone, voice, wav

pytest.importorskip("silero_vad")

TALK = voice(2)


def odd(value: float) -> bytes:
    samples = voice(1)
    samples[0, 99] = value
    return wav(samples, floats=True)


RECORDINGS = {
    "good.flac": encoded(TALK, 16_000, "flac"),
    "cut.wav": wav(TALK)[:30_000],
    "cut.flac": encoded(TALK, 16_000, "flac")[:9_000],
    "zero.wav": b"",
    "text.wav": b"no sound at all, only words " * 30,
    "really_an_mp3.wav": encoded(TALK, 16_000, "mp3"),
    "no_samples.wav": wav(TALK[:, :0]),
    "one_sample.wav": wav(TALK[:, :1]),
    "nan.wav": odd(np.nan),
    "inf.wav": odd(np.inf),
    "telephone.wav": wav(voice(2, 8_000), 8_000),
    "studio.wav": wav(voice(2, 192_000), 192_000),
    "twelve.wav": wav(np.vstack([TALK] * 12)),
    "lying.wav": wav(TALK),
    "silence.wav": wav(np.zeros((1, 32_000), np.float32)),
    "hum.wav": wav(tone(2, hertz=50)),
}
KEPT = {"good.flac", "really_an_mp3.wav", "telephone.wav", "studio.wav", "twelve.wav", "lying.wav"}
QUARANTINED = {
    "cut.wav": "cut off after 30000 of 64044 bytes",
    "cut.flac": "damaged or cut off after 0.00 s",
    "zero.wav": "the file is empty (0 bytes)",
    "text.wav": "not audio in a supported format",
    "no_samples.wav": "the recording has no samples",
    "nan.wav": "1 samples after 0.00 s are infinite or NaN",
    "inf.wav": "1 samples after 0.00 s are infinite or NaN",
    "missing.wav": "the file does not exist",
}


def test_bad_recordings_are_quarantined_and_the_others_written(tmp_path: Path) -> None:
    for name, data in RECORDINGS.items():
        put(tmp_path / "in", name, data)
    lines = [
        {"audio_filepath": name, "duration": 3600.0 if name == "lying.wav" else 2.0}
        for name in (*RECORDINGS, "missing.wav")
    ]
    manifest = "".join(json.dumps(line) + "\n" for line in lines)
    put(tmp_path / "in", "manifest.jsonl", manifest.encode())
    stages = [
        ManifestReader(f"{tmp_path}/in/manifest.jsonl"),
        AudioMeasurer(),
        SpeechFinder(),
        SegmentWriter(f"{tmp_path}/out", dropped_path=f"{tmp_path}/dropped"),
    ]
    result = Pipeline(name="all", stages=stages).run(LocalExecutor(), on_error="quarantine")
    kept = {Path(row["source_filepath"]).name: row for row in lines_of(tmp_path / "out")}
    assert set(kept) == KEPT
    for row in kept.values():
        assert abs(row["duration"] - 2) < 0.1
        assert abs(decode(str(tmp_path / "out" / row["audio_filepath"]), NATIVE).seconds - 2) < 0.1
    assert kept["lying.wav"]["duration_given"] == 3600.0
    assert kept["twelve.wav"]["channels"] == 12
    dropped = {Path(row["audio_filepath"]).name for row in lines_of(tmp_path / "dropped")}
    assert dropped == {"one_sample.wav", "silence.wav", "hum.wav"}
    reasons = {Path(str(one.where)).name: one.reason for one in result.quarantined}
    assert set(reasons) == set(QUARANTINED)
    for name, reason in QUARANTINED.items():
        assert reasons[name].startswith(reason), name


@pytest.mark.parametrize(
    "fault",
    [
        {"audio_filepath": "ftp://127.0.0.1:9/a.wav"},
        {"audio_filepath": "http://127.0.0.1:9/a.wav"},
        {"audio_filepath": "foo://a.wav"},
        {"audio_filepath": "a\0b.wav"},
        {"audio_filepath": "a" * 5_000 + ".wav"},
        {"audio_filepath": "good.wav/b.wav"},
        {"audio_filepath": "unreadable://a.wav"},
        {"offset": "soon"},
        {"offset": 0.0, "duration": "long"},
    ],
    ids=lambda fault: str(fault)[:60].replace("\0", "NUL"),
)
def test_a_bad_row_fails_alone(tmp_path: Path, fault: dict[str, Any]) -> None:
    fsspec.register_implementation("unreadable", Unreadable, clobber=True)
    put(tmp_path, "good.wav", wav(tone(1)))
    lines: list[dict[str, Any]] = [{"audio_filepath": "good.wav"} for _ in range(5)]
    lines[2] |= fault
    manifest = put(tmp_path, "m.jsonl", "\n".join(map(json.dumps, lines)).encode())
    stages = [ManifestReader(manifest), AudioMeasurer(["duration"])]

    result = Pipeline(name="all", stages=stages).run(
        LocalExecutor(workers=0), on_error="quarantine"
    )

    assert sum(batch.num_items for batch in result) == 4
    (failed,) = result.quarantined
    assert Path(str(failed.where)).name == Path(lines[2]["audio_filepath"]).name


@pytest.mark.parametrize(
    "stage",
    [SegmentJoiner(), LongSplitter(), SegmentExtractor(), ConversationBuilder()],
    ids=lambda stage: stage.name,
)
@pytest.mark.parametrize("fault", [{"offset": "soon"}, {"duration": "long"}], ids=str)
def test_a_row_with_an_invalid_offset_fails_alone(stage: AnyStage, fault: dict[str, str]) -> None:
    turns = [{"start": 60.0 * n, "end": 60.0 * n + 59, "speaker": f"{n}"} for n in range(2)]
    good = {"offset": "0.0", "duration": "9.0", "speech": [{"start": 0.0, "end": 1.0}]}
    rows = [{"audio_filepath": f"{n}.wav", **good, "turns": turns} for n in range(3)]
    rows[1] |= fault
    run = run_stages([stage], [AudioBatch.from_pylist(rows)], on_error="quarantine")
    assert sum(batch.num_items for batch in run.outputs) >= 2
    assert run.counts.items_rejected <= 1


class Unreadable(MemoryFileSystem):
    """Storage that opens what it cannot read."""

    protocol = "unreadable"

    def open(self, path: str, mode: str = "rb", **_: Any) -> Any:
        return UnreadableFile()


class UnreadableFile(io.BytesIO):
    def read(self, size: int | None = -1) -> bytes:
        raise ConnectionResetError("the server hung up")


def lines_of(folder: Path) -> list[dict[str, Any]]:
    texts = [path.read_text() for path in folder.glob("*.jsonl")]
    return [json.loads(line) for text in texts for line in text.splitlines()]
