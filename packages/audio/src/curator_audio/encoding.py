"""Encoding: write waveforms as WAV, FLAC or Opus, at once or block by block."""

import ctypes
import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, TypeAlias

from curator_audio.container import UndecodableError
from curator_audio.waveform import Waveform

if TYPE_CHECKING:
    from curator_audio.waveform import Samples


@contextmanager
def pinned_to_one_core() -> Iterator[None]:
    """Pin this thread to its current core, so that FFmpeg starts no threads for filters.

    Otherwise FFmpeg starts one thread per core for each file, and waits for all of them at its end.
    If all cores are busy, this takes longer than encoding a few seconds.
    """
    here = _current_core()
    if here is None:
        yield
        return
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {here})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def _current_core() -> int | None:
    """Return the core of this thread; None if it is unknown or the system has no affinity."""
    get_number = _sched_getcpu()
    if get_number is None:
        return None
    number = get_number()
    return number if number in os.sched_getaffinity(0) else None


@cache
def _sched_getcpu() -> Callable[[], int] | None:
    if not hasattr(os, "sched_setaffinity"):
        return None
    try:
        found: Callable[[], int] = ctypes.CDLL(None).sched_getcpu
    except (OSError, AttributeError):
        return None
    return found


FileFormat: TypeAlias = Literal["flac", "wav", "opus"]

_CODECS: dict[str, tuple[str, str, str]] = {
    "flac": ("flac", "flac", "s16"),
    "wav": ("wav", "pcm_s16le", "s16"),
    "opus": ("ogg", "libopus", "flt"),
}

OPUS_RATES = (8_000, 12_000, 16_000, 24_000, 48_000)

MAX_CHANNELS = {"flac": 8, "wav": 64, "opus": 2}

_LARGEST_WAV = 2**32 - 4096
"""Bytes of samples that fit: the header counts them with 32 bits."""


def encode(wave: Waveform, kind: FileFormat, bit_rate: int | None = None) -> bytes:
    """Return the bytes of a file, which are reproducible. `bit_rate` is for opus."""
    file = io.BytesIO()
    encoder = BlockEncoder(file, kind, bit_rate)
    encoder.write(wave)
    encoder.close()
    return file.getvalue()


class BlockEncoder:
    """Write a recording to a file block by block; the bytes do not depend on the blocks."""

    def __init__(self, file: BinaryIO, kind: FileFormat, bit_rate: int | None = None) -> None:
        self._file, self._kind, self._bit_rate = file, kind, bit_rate
        self._container: Any = None
        self._held: Samples | None = None
        self._written = 0
        self.samples, self.sample_rate = 0, 1

    @property
    def seconds(self) -> float:
        return self.samples / self.sample_rate

    def write(self, wave: Waveform) -> None:
        """Encode all full frames; the rest is kept for the next block."""
        import numpy as np

        if self._container is None:
            self._open(wave.samples.shape[0], wave.sample_rate)
        self.samples += wave.samples.shape[1]
        if self._kind == "wav" and self.samples * wave.samples.shape[0] * 2 > _LARGEST_WAV:
            raise UndecodableError("a WAV file holds at most 4 GiB; choose flac")
        held = wave.samples
        if self._held is not None and self._held.shape[1]:
            held = np.concatenate([self._held, held], axis=1)
        whole = held.shape[1] // self._frame_size * self._frame_size
        self._encode(held[:, :whole])
        self._held = held[:, whole:].copy()

    def close(self) -> None:
        """Write the remaining samples, and complete the header."""
        if self._held is not None:
            self._encode(self._held)
            self._container.mux(self._stream.encode(None))
        self.abort()

    def abort(self) -> None:
        """Close the encoder without finishing the file."""
        if self._container is not None:
            self._container.close()
            self._container = None

    def _open(self, channels: int, rate: int) -> None:
        import av

        if channels > MAX_CHANNELS[self._kind]:
            raise UndecodableError(
                f"{self._kind} holds up to {MAX_CHANNELS[self._kind]} channels, not {channels}; "
                "choose mono, or wav"
            )
        container_format, codec, self._sample_format = _CODECS[self._kind]
        self._container = av.open(
            self._file, "w", format=container_format, container_options={"fflags": "+bitexact"}
        )
        self._layout = _layout(channels)
        stream: Any = self._container.add_stream(codec, rate=rate, layout=self._layout)
        stream.format = self._sample_format
        if self._bit_rate is not None:
            stream.bit_rate = self._bit_rate
        stream.codec_context.options = {"flags": "+bitexact"}
        stream.open()
        self._stream, self.sample_rate = stream, rate
        self._frame_size = stream.frame_size or 4096

    def _encode(self, samples: "Samples") -> None:
        for first in range(0, samples.shape[1], self._frame_size):
            frame = self._frame(samples[:, first : first + self._frame_size])
            if self._written:
                packets = self._stream.encode(frame)
            else:
                with pinned_to_one_core():  # FFmpeg decides on its threads here
                    packets = self._stream.encode(frame)
            self._container.mux(packets)
            self._written += frame.samples

    def _frame(self, samples: "Samples") -> Any:
        import av
        import numpy as np

        values: Any = np.clip(samples, -1.0, 1.0)
        if self._sample_format == "s16":
            values = np.round(values * 32767).astype(np.int16)
        frame = av.AudioFrame.from_ndarray(
            np.ascontiguousarray(values.T.reshape(1, -1)),
            format=self._sample_format,
            layout=self._layout,
        )
        frame.sample_rate, frame.pts = self.sample_rate, self._written
        return frame


def _layout(channels: int) -> str:
    return {1: "mono", 2: "stereo"}.get(channels, f"{channels} channels")
