"""Measures curator-audio: `hatch run bench:audio [ROW …] [--quick]`.

CPU seconds of this process and of those that it waits for are what counts, in turns with each
peer; the speed of two workers is by the clock. ffmpeg is taken from the machine, speech from
packages that are fetched once. Keep the machine quiet.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"  # before torch: one core each

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "audio"))

import torch
from audio_loading import loading
from audio_loudness import loudness
from audio_quality import quality
from audio_recognition import recognition
from audio_running import memory, workers
from audio_sizes import QUICK, Sizes
from audio_speech import finding, in_noise
from audio_transcripts import error_rates
from curator_audio.torchaudio_compat import torchaudio  # noqa: F401 - before silero_vad asks for it
from measuring.rows import Row, run_rows

ROWS: dict[str, Row[Sizes]] = {
    "loading": loading,
    "finding": finding,
    "noise": in_noise,
    "loudness": loudness,
    "rates": error_rates,
    "quality": quality,
    "recognition": recognition,
    "workers": workers,
    "memory": memory,
}

if __name__ == "__main__":
    torch.set_num_threads(1)
    sys.exit(run_rows("audio", __doc__, ROWS, Sizes(), QUICK))
