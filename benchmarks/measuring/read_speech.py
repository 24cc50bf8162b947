"""Read speech with labels, of packages whose licences allow it; unpacked below the cache.

Five passages of LibriVox with what is said in them, from the source package of pocketsphinx, and
prompts of Debian's asterisk-core-sounds-en-wav, where they can be fetched.
"""

import hashlib
import io
import shutil
import subprocess
import tarfile
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

import numpy as np
from curator_audio import SPEECH
from curator_audio.decoding import decode
from numpy.typing import NDArray

from measuring.peers import CACHE, PeerMissingError

Samples: TypeAlias = NDArray[np.float32]

RATE = 16_000
_PASSAGES = (
    "https://files.pythonhosted.org/packages/61/e7/13e0e787ff467218de880310d79cba14424f13b87171ac44"
    "af0bde1e428c/pocketsphinx-5.1.1.tar.gz"
)
_DIGEST = "675778b309a22dfc9b7d37f7621976bba491d2a5f8c59696bd77fd6d07271355"
_PROMPTS = "asterisk-core-sounds-en-wav"
_LONG_PROMPT = 40_000
"""Bytes: shorter ones are single words."""

_FRAME = RATE // 100
_SPOKEN_DB = -30.0
"""A frame within so much of the loudest ones of a clean recording is spoken."""

_BREATH = 20
"""Frames: a shorter pause within what somebody says is part of it."""


@dataclass(frozen=True)
class Passage:
    """A recording, and what is said in it."""

    path: Path
    text: str


def passages() -> list[Passage]:
    """Sentences of a novel, each a file of WAV at 16 kHz."""
    folder = CACHE / "read-speech"
    if not (folder / "ready").is_file():
        _fetch_passages(folder)
    return [
        Passage(path, path.with_suffix(".txt").read_text().strip())
        for path in sorted(folder.glob("*.wav"))
    ]


def _fetch_passages(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        with urllib.request.urlopen(_PASSAGES, timeout=120) as answer:
            data = answer.read()
    except (urllib.error.URLError, TimeoutError) as error:
        raise PeerMissingError(f"read speech cannot be fetched: {error}") from None
    if hashlib.sha256(data).hexdigest() != _DIGEST:
        raise PeerMissingError(f"{_PASSAGES} is not the file that was expected")
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for member in archive:
            if "/librivox/" in member.name and member.name.endswith((".wav", ".txt")):
                file = archive.extractfile(member)
                if file is not None:
                    (folder / Path(member.name).name).write_bytes(file.read())
    (folder / "ready").touch()


def prompts(most: int) -> list[Path]:
    """Whole sentences that a telephone system says, at 8 kHz; none where there is no Debian."""
    folder = CACHE / "prompts"
    if not (folder / "ready").is_file():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        try:
            subprocess.run(["apt-get", "download", _PROMPTS], cwd=folder, check=True,
                           capture_output=True)  # fmt: skip
        except (OSError, subprocess.CalledProcessError):
            return []
        for archive in folder.glob("*.deb"):
            subprocess.run(["dpkg-deb", "-x", str(archive), str(folder)], check=True)
        (folder / "ready").touch()
    found = sorted(folder.rglob("en_US_f_Allison/*.wav"))
    return [path for path in found if path.stat().st_size >= _LONG_PROMPT][:most]


def heard(path: Path) -> Samples:
    samples: Samples = decode(str(path), SPEECH).samples[0]
    return samples


@dataclass(frozen=True)
class Labelled:
    """A recording, and for each hundredth of a second whether somebody speaks."""

    samples: Samples
    spoken: NDArray[np.bool_]


def labelled(recordings: Sequence[Samples], seed: int) -> Labelled:
    """Recordings one after the other, with pauses of half a second to two between them."""
    random = np.random.default_rng(seed)
    pieces: list[Samples] = []
    flags: list[NDArray[np.bool_]] = []
    for samples in recordings:
        pause = int(random.integers(50, 200))
        whole = samples.size // _FRAME
        pieces += [np.zeros(pause * _FRAME, np.float32), samples[: whole * _FRAME]]
        flags += [np.zeros(pause, bool), _spoken(samples[: whole * _FRAME])]
    return Labelled(np.concatenate(pieces), np.concatenate(flags))


def _spoken(samples: Samples) -> NDArray[np.bool_]:
    """Where a clean recording is not far quieter than where it is loud, short pauses filled."""
    power = np.square(samples.reshape(-1, _FRAME)).mean(axis=1)
    loud = power > np.quantile(power, 0.95) * 10 ** (_SPOKEN_DB / 10)
    places = np.flatnonzero(loud)
    filled = loud.copy()
    for before, after in pairwise(places):
        if after - before <= _BREATH:
            filled[before:after] = True
    return filled


def noisy(clean: Labelled, decibels: float, seed: int, color: str = "white") -> Samples:
    """With noise so many decibels below the speech, pauses left out of the reckoning."""
    random = np.random.default_rng(seed)
    noise = random.standard_normal(clean.samples.size)
    if color == "pink":
        spectrum = np.fft.rfft(noise)
        spectrum /= np.sqrt(np.maximum(1, np.arange(spectrum.size)))
        noise = np.fft.irfft(spectrum, noise.size)
    speech = clean.samples.reshape(-1, _FRAME)[clean.spoken]
    level = np.sqrt(np.square(speech).mean() / np.square(noise).mean() / 10 ** (decibels / 10))
    mixed: Samples = (clean.samples + level * noise).astype(np.float32)
    return mixed
