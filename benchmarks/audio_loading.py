"""Loading: files to 16 kHz mono, against a process of ffmpeg for each."""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from audio_sizes import Sizes
from curator_audio import SPEECH
from curator_audio.decoding import decode
from measuring.figures import Figure
from measuring.spending import cpu_seconds, faster
from measuring.timing import in_turns
from sounds import encoded, put, voice

LEAST = 4.0
_RATE = 44_100


def loading(sizes: Sizes) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as place:
        for ending in ("wav", "flac", "mp3"):
            yield _loaded(_recordings(Path(place) / ending, ending, sizes), ending, sizes.rounds)


def _recordings(folder: Path, ending: str, sizes: Sizes) -> list[str]:
    return [
        put(folder, f"{n}.{ending}", encoded(voice(sizes.seconds, _RATE, n), _RATE, ending))
        for n in range(sizes.files)
    ]


def _loaded(paths: list[str], ending: str, rounds: int) -> Figure:
    what = f"{ending} to 16 kHz mono, against a process of ffmpeg for each file"
    if shutil.which("ffmpeg") is None:
        missing = "ffmpeg is not installed: apt-get install ffmpeg"
        return Figure(what, f">= {LEAST:g}x", missing, None)
    jobs = {
        "ours": lambda: cpu_seconds(lambda: [decode(path, SPEECH) for path in paths]),
        "ffmpeg": lambda: cpu_seconds(lambda: [_ffmpeg(path) for path in paths]),
    }
    return faster(what, LEAST, *in_turns(jobs, rounds), peer="ffmpeg")


def _ffmpeg(path: str) -> bytes:
    command = ["ffmpeg", "-v", "error", "-i", path, "-ar", "16000", "-ac", "1", "-f", "f32le", "-"]
    return subprocess.run(command, check=True, capture_output=True).stdout
