"""Listeners of duplicate detection: digest or fingerprint a recording, block by block."""

import hashlib
from dataclasses import dataclass

from curator_audio.fingerprints.prints import Frames, Printing
from curator_audio.waveforms import Waveform

DIGEST_BYTES = 16


@dataclass(frozen=True)
class Told:
    """Digest and length of a recording, computed from all its samples as recorded."""

    digest: bytes
    seconds: float


class Digesting:
    """Digest all samples of all channels; equal samples at an equal rate have equal digests."""

    def __init__(self) -> None:
        self._digests: list[hashlib.blake2b] = []
        self._rate = 1
        self._samples = 0

    def hear(self, piece: Waveform) -> None:
        import numpy as np

        channels = piece.samples.shape[0]
        self._digests = self._digests or [
            hashlib.blake2b(digest_size=DIGEST_BYTES) for _ in range(channels)
        ]
        for digest, row in zip(self._digests, piece.samples, strict=True):
            positive = row + np.float32(0)  # turns -0.0 into 0.0
            digest.update(positive.tobytes())
        self._rate = piece.sample_rate
        self._samples += piece.samples.shape[1]

    def answer(self) -> Told:
        whole = hashlib.blake2b(str(self._rate).encode(), digest_size=DIGEST_BYTES)
        for digest in self._digests:
            whole.update(digest.digest())
        return Told(whole.digest(), self._samples / self._rate)


class PrintListening:
    def __init__(self) -> None:
        self._printing = Printing()

    def hear(self, piece: Waveform) -> None:
        self._printing.hear(piece.samples[0])

    def answer(self) -> Frames:
        return self._printing.frames()
