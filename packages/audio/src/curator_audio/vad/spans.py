"""Spans of speech, derived from speech probabilities by rules for pauses and lengths."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf
from operator import itemgetter

from curator_audio.vad.silero import FRAME, RATE

_MIN_CUT_PAUSE = 98 * RATE // 1000
"""Minimum pause (98 ms) at which speech that is too long may be cut."""


@dataclass(frozen=True)
class SpanRules:
    """Rules for where speech begins and ends. Lengths are in seconds."""

    threshold: float = 0.5
    min_speech: float = 0.25
    max_speech: float = inf
    min_silence: float = 0.1
    padding: float = 0.03

    @property
    def exit_threshold(self) -> float:
        """Speech ends only below this lower threshold, to avoid flicker."""
        return max(self.threshold - 0.15, 0.01)

    @property
    def longest(self) -> float:
        """Maximum length in samples, without padding."""
        return RATE * self.max_speech - FRAME - 2 * RATE * self.padding


class _SpeechTracker:
    """Process frames in order, and track where speech begins and ends, in samples."""

    def __init__(self, rules: SpanRules) -> None:
        self._rules = rules
        self.start: int | None = None
        self._quiet: int | None = None
        self._pauses: list[tuple[int, int]] = []

    def frame(self, moment: int, probability: float) -> Iterator[tuple[int, int]]:
        """Yield the spans that end at this frame."""
        if probability >= self._rules.threshold:
            self._resume(moment)
            if self.start is None:
                self.start = moment
                return
        if self.start is not None and moment - self.start > self._rules.longest:
            yield self._cut(moment)
        if self.start is not None and probability < self._rules.exit_threshold:
            yield from self._pause(moment)

    def _resume(self, moment: int) -> None:
        if self._quiet:
            if moment - self._quiet > _MIN_CUT_PAUSE:
                self._pauses.append((self._quiet, moment - self._quiet))
            self._quiet = None

    def _cut(self, moment: int) -> tuple[int, int]:
        """Cut at the longest pause so far, or at the current frame if there was none."""
        start = self.start or 0
        self._quiet = None
        if not self._pauses:
            self.start = None
            return start, moment
        end, length = max(self._pauses, key=itemgetter(1))
        self._pauses = []
        self.start = end + length
        return start, end

    def _pause(self, moment: int) -> Iterator[tuple[int, int]]:
        self._quiet = self._quiet or moment
        if moment - self._quiet < RATE * self._rules.min_silence:
            return
        start, end = self.start or 0, self._quiet
        self.start, self._quiet, self._pauses = None, None, []
        if end - start > RATE * self._rules.min_speech:
            yield start, end


def _spoken(values: Sequence[float], samples: int, rules: SpanRules) -> Iterator[tuple[int, int]]:
    tracker = _SpeechTracker(rules)
    for number, probability in enumerate(values):
        yield from tracker.frame(number * FRAME, probability)
    if tracker.start is not None and samples - tracker.start > RATE * rules.min_speech:
        yield tracker.start, samples


def find_speech_spans(
    values: Sequence[float], samples: int, rules: SpanRules
) -> list[tuple[int, int]]:
    """Return spans of speech in samples at 16 kHz, padded with surrounding silence."""
    found = [list(span) for span in _spoken(values, samples, rules)]
    padding = RATE * rules.padding
    for number, span in enumerate(found):
        if number == 0:
            span[0] = int(max(0, span[0] - padding))
        following = found[number + 1] if number + 1 < len(found) else None
        if following is None:
            span[1] = int(min(samples, span[1] + padding))
            continue
        silence = following[0] - span[1]
        if silence < 2 * padding:
            span[1] += silence // 2
            following[0] = max(0, following[0] - silence // 2)
        else:
            span[1] = int(min(samples, span[1] + padding))
            following[0] = int(max(0, following[0] - padding))
    return [(start, end) for start, end in found]
