"""Long rows: transcribe them in parts of up to five minutes, split at quiet moments."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from curator_audio.transcripts.engines.recognitions import Engine, Recognition
from curator_audio.transcripts.hallucinations import UNSPACED
from curator_audio.waveforms import Waveform

if TYPE_CHECKING:
    from curator_audio.cutting import Sound

LONGEST = 300.0
"""Maximum seconds per part. Models compute spectra of all their input: an hour took 3 GB."""

_SEARCHED = 30.0
"""Seconds at the end of a part that are searched for the quietest moment."""

_LEAST = 1.0
"""Minimum seconds left for the next part: models hallucinate on shorter sound."""

_FRAME = 0.1


class Stretches:
    """Transcribe one row of any length with an engine, and join the results."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._waiting: list[Sound] = []
        self._held = 0
        self._begin = 0.0
        self._told: list[Recognition] = []

    def hear(self, piece: Waveform) -> None:
        self._waiting.append(piece.samples[0])
        self._held += piece.samples.shape[1]
        while self._held > LONGEST * piece.sample_rate:
            sound = self._joined()
            end = _quietest(sound, piece.sample_rate)
            self._tell(sound[:end])
            self._begin += end / piece.sample_rate
            self._waiting, self._held = [sound[end:].copy()], len(sound) - end

    def answer(self) -> Recognition:
        self._tell(self._joined())
        return together(self._told)

    def _joined(self) -> "Sound":
        import numpy as np

        return self._waiting[0] if len(self._waiting) == 1 else np.concatenate(self._waiting)

    def _tell(self, sound: "Sound") -> None:
        said = self._engine.hear(sound)
        words = [
            replace(word, start=word.start + self._begin, end=word.end + self._begin)
            for word in said.words
        ]
        self._told.append(replace(said, words=words))


def _quietest(sound: "Sound", rate: int) -> int:
    """Return the sample at which to split."""
    import numpy as np

    frame = round(_FRAME * rate)
    last = round((LONGEST - _LEAST) * rate)
    first = last - round(_SEARCHED * rate)
    count = (last - first) // frame
    frames = sound[first : first + count * frame].reshape(count, frame)
    energies = np.square(frames).mean(axis=1)
    around = np.convolve(energies, np.ones(3, np.float32), "same")
    quiet = int(around[1:-1].argmin()) + 1
    return first + quiet * frame + frame // 2


def together(told: Sequence[Recognition]) -> Recognition:
    """Join recognitions; the language is the one with the most text."""
    if len(told) == 1:
        return told[0]
    text = ""
    said: dict[str | None, int] = {}
    for one in told:
        said[one.language] = said.get(one.language, 0) + len(one.text)
        is_spaced = text and one.text and not UNSPACED.match(text[-1])
        text += f" {one.text}" if is_spaced else one.text
    words = [word for one in told for word in one.words]
    return Recognition(text, max(said, key=lambda name: said[name]), words)
