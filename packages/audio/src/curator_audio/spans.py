"""Spans: cut parts of a recording from its blocks while it is decoded."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any, Protocol, TypeVar

from curator_audio.opening import UndecodableError
from curator_audio.waveforms import Waveform

T_co = TypeVar("T_co", covariant=True)

_TOLERANCE = 0.1
"""Seconds by which a span may exceed the recording: durations are rounded, and codecs pad."""


class Listener(Protocol[T_co]):
    """Consumes a recording block by block, and returns an answer at the end."""

    def hear(self, piece: Waveform) -> None: ...

    def answer(self) -> T_co: ...


@dataclass(frozen=True)
class Span:
    """A span in seconds; without an end, it lasts to the end of the recording."""

    start: float = 0.0
    end: float = inf
    gain: float = 1.0
    """Amplification factor."""

    def piece(self, block: Waveform, position: int) -> Waveform:
        """Return the part of a block in this span; `position` is the first sample of the block."""
        first, last = self.samples(block.sample_rate)
        end = int(min(last, position + block.samples.shape[1]))
        cut = block.samples[:, max(0, first - position) : max(0, end - position)]
        return Waveform(cut if self.gain == 1.0 else cut * _float32(self.gain), block.sample_rate)

    def samples(self, rate: int) -> tuple[int, float]:
        end = inf if self.end == inf else round(self.end * rate)
        return round(self.start * rate), end


def _float32(number: float) -> Any:
    import numpy as np

    return np.float32(number)


class Collecting:
    """Collect all samples."""

    def __init__(self) -> None:
        self._pieces: list[Waveform] = []

    def hear(self, piece: Waveform) -> None:
        self._pieces.append(piece)

    def answer(self) -> Waveform:
        import numpy as np

        if len(self._pieces) == 1:
            return self._pieces[0]
        samples = np.hstack([piece.samples for piece in self._pieces])
        return Waveform(samples, self._pieces[0].sample_rate)


@dataclass
class _Ear:
    row: int
    span: Span
    listener: Listener[Any]
    heard: int = 0


class Audience:
    """Listeners to spans of one recording, which may overlap."""

    def __init__(self, listeners: Mapping[int, tuple[Span, Listener[Any]]]) -> None:
        ears = [_Ear(row, span, listener) for row, (span, listener) in listeners.items()]
        self._waiting = sorted(ears, key=lambda ear: ear.span.start, reverse=True)
        self._hearing: list[_Ear] = []
        self._done: list[tuple[int, Any]] = []

    def follow(self, blocks: Iterable[Waveform]) -> Iterator[tuple[int, Any]]:
        """Feed the recording to all listeners, up to the end of the last span.

        Yields each row with its answer, or with an UndecodableError, when its span ends.
        """
        position, rate = 0, 1
        try:
            for block in blocks:
                rate = block.sample_rate
                self._hear(block, position)
                position += block.samples.shape[1]
                yield from self._told()
                if not (self._waiting or self._hearing):
                    return
            self._end(position / rate)
        except UndecodableError as error:
            rest = (*self._waiting, *self._hearing)
            self._done += [(ear.row, type(error)(str(error))) for ear in rest]
        yield from self._told()

    def _told(self) -> list[tuple[int, Any]]:
        done, self._done = self._done, []
        return done

    def _hear(self, block: Waveform, position: int) -> None:
        end = position + block.samples.shape[1]
        while self._waiting and self._waiting[-1].span.samples(block.sample_rate)[0] < end:
            self._hearing.append(self._waiting.pop())
        for ear in list(self._hearing):
            piece = ear.span.piece(block, position)
            if piece.samples.shape[1]:
                ear.listener.hear(piece)
                ear.heard += piece.samples.shape[1]
            if ear.span.samples(block.sample_rate)[1] <= end:
                self._hearing.remove(ear)
                self._conclude(ear)

    def _end(self, seconds: float) -> None:
        for ear in (*self._hearing, *self._waiting):
            end = ear.span.end
            if end != inf and end > seconds + _TOLERANCE:
                reason = (
                    f"the span from {ear.span.start:.2f} to {end:.2f} s reaches beyond the end of "
                    f"the recording at {seconds:.2f} s"
                )
                self._done.append((ear.row, UndecodableError(reason)))
            else:
                self._conclude(ear)

    def _conclude(self, ear: _Ear) -> None:
        span = ear.span
        try:
            if not ear.heard:
                raise UndecodableError(
                    f"the span from {span.start:.2f} to {span.end:.2f} s holds no samples"
                )
            self._done.append((ear.row, ear.listener.answer()))
        except UndecodableError as error:
            self._done.append((ear.row, type(error)(str(error))))
