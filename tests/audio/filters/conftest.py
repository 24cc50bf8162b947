"""A long, a short and a quiet recording, and one that does not exist."""

from pathlib import Path

import pytest
from curator_audio import AudioBatch
from sounds import put, voice, wav


@pytest.fixture
def batch(tmp_path: Path) -> AudioBatch:
    rows = {"long": voice(5), "short": voice(0.3), "quiet": voice(3) * 0.02}
    paths = [put(tmp_path, f"{name}.wav", wav(samples)) for name, samples in rows.items()]
    paths.append(f"{tmp_path}/missing.wav")
    return AudioBatch.from_pylist([{"audio_filepath": path, "duration": 5.0} for path in paths])
