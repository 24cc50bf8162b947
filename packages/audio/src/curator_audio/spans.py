"""Spans of a recording, cut from its blocks while it is decoded and passed to accumulators."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any, Protocol, TypeVar

from curator_audio.container import UndecodableError
from curator_audio.waveform import Waveform

T_co = TypeVar("T_co", covariant=True)

_TOLERANCE = 0.1
"""Seconds by which a span may exceed the recording: durations are rounded, and codecs pad."""


class Accumulator(Protocol[T_co]):
    """Consumes a recording block by block, and returns its result at the end."""

    def add(self, block: Waveform) -> None: ...

    def result(self) -> T_co: ...


class WaveformCollector:
    """Collect all samples."""

    def __init__(self) -> None:
        self._blocks: list[Waveform] = []

    def add(self, block: Waveform) -> None:
        self._blocks.append(block)

    def result(self) -> Waveform:
        import numpy as np

        if len(self._blocks) == 1:
            return self._blocks[0]
        samples = np.hstack([block.samples for block in self._blocks])
        return Waveform(samples, self._blocks[0].sample_rate)


@dataclass
class AccumulatorGroup:
    """Run several accumulators over one pass of a recording."""

    accumulators: list[Accumulator[Any]]

    def add(self, block: Waveform) -> None:
        for accumulator in self.accumulators:
            accumulator.add(block)

    def result(self) -> list[Any]:
        return [accumulator.result() for accumulator in self.accumulators]


@dataclass(frozen=True)
class AudioSpan:
    """A span in seconds; without an end, it lasts to the end of the recording."""

    start: float = 0.0
    end: float = inf
    gain: float = 1.0
    """Amplification factor."""

    def cut(self, block: Waveform, position: int) -> Waveform:
        """Return the part of a block in this span; `position` is the first sample of the block."""
        first, last = self.samples(block.sample_rate)
        end = int(min(last, position + block.samples.shape[1]))
        part = block.samples[:, max(0, first - position) : max(0, end - position)]
        return Waveform(part if self.gain == 1.0 else part * _float32(self.gain), block.sample_rate)

    def samples(self, rate: int) -> tuple[int, float]:
        """Return the first sample, and the sample after the last."""
        end = inf if self.end == inf else round(self.end * rate)
        return round(self.start * rate), end


def _float32(number: float) -> Any:
    import numpy as np

    return np.float32(number)


@dataclass
class _OpenSpan:
    row: int
    span: AudioSpan
    accumulator: Accumulator[Any]
    num_samples: int = 0


class SpanFeeder:
    """Pass the spans of one recording, which may overlap, to an accumulator for each."""

    def __init__(self, accumulators: Mapping[int, tuple[AudioSpan, Accumulator[Any]]]) -> None:
        spans = [_OpenSpan(row, span, given) for row, (span, given) in accumulators.items()]
        self._waiting = sorted(spans, key=lambda one: one.span.start, reverse=True)
        self._active: list[_OpenSpan] = []
        self._done: list[tuple[int, Any]] = []

    def feed(self, blocks: Iterable[Waveform]) -> Iterator[tuple[int, Any]]:
        """Feed the recording to all accumulators, up to the end of the last span.

        Yields each row with its result, or with an UndecodableError, when its span ends.
        """
        position, rate = 0, 1
        try:
            for block in blocks:
                rate = block.sample_rate
                self._add(block, position)
                position += block.samples.shape[1]
                yield from self._take_done()
                if not (self._waiting or self._active):
                    return
            self._end(position / rate)
        except UndecodableError as error:
            rest = (*self._waiting, *self._active)
            self._done += [(one.row, type(error)(str(error))) for one in rest]
        yield from self._take_done()

    def _take_done(self) -> list[tuple[int, Any]]:
        done, self._done = self._done, []
        return done

    def _add(self, block: Waveform, position: int) -> None:
        end = position + block.samples.shape[1]
        while self._waiting and self._waiting[-1].span.samples(block.sample_rate)[0] < end:
            self._active.append(self._waiting.pop())
        for one in list(self._active):
            part = one.span.cut(block, position)
            if part.samples.shape[1]:
                one.accumulator.add(part)
                one.num_samples += part.samples.shape[1]
            if one.span.samples(block.sample_rate)[1] <= end:
                self._active.remove(one)
                self._finish(one)

    def _end(self, seconds: float) -> None:
        """Finish the spans that are still open at the end of the recording."""
        for one in (*self._active, *self._waiting):
            end = one.span.end
            if end != inf and end > seconds + _TOLERANCE:
                reason = (
                    f"the span from {one.span.start:.2f} to {end:.2f} s reaches beyond the end of "
                    f"the recording at {seconds:.2f} s"
                )
                self._done.append((one.row, UndecodableError(reason)))
            else:
                self._finish(one)

    def _finish(self, one: _OpenSpan) -> None:
        span = one.span
        try:
            if not one.num_samples:
                raise UndecodableError(
                    f"the span from {span.start:.2f} to {span.end:.2f} s has no samples"
                )
            self._done.append((one.row, one.accumulator.result()))
        except UndecodableError as error:
            self._done.append((one.row, type(error)(str(error))))
