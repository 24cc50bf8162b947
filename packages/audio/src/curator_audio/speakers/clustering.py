"""Weak diarization: group voice vectors into speakers by agglomerative clustering."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from curator_audio.speakers.turns import SpeakerTurn
from curator_audio.speakers.voices import RATE, VoiceEncoder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from curator_audio.speakers.voices import Vector
    from curator_audio.waveform import MonoSamples


_BELOW_ALL = -2.0
"""Less than any cosine."""


def cluster_voices(
    vectors: "NDArray[np.float32]",
    weights: "NDArray[np.float64]",
    threshold: float,
    max_speakers: int,
) -> list[int]:
    """Return the speaker number of each vector, counted in order of appearance.

    The closest groups are joined while the cosine between their weighted sums is at least the
    threshold, or while there are more than `max_speakers` groups.
    """
    groups = _VoiceGroups(vectors, weights)
    while len(groups.members) > 1:
        one, other, cosine = groups.closest()
        if cosine < threshold and len(groups.members) <= max_speakers:
            break
        groups.join(one, other)
    ordered = sorted(groups.members.values(), key=min)
    numbers = {index: number for number, group in enumerate(ordered) for index in group}
    return [numbers[index] for index in range(len(vectors))]


class _VoiceGroups:
    """Groups that know their nearest neighbour, so that a join compares few vectors.

    If a group's neighbour was joined to another, the old cosine serves as an upper bound and is
    recomputed when needed.
    """

    def __init__(self, vectors: "NDArray[np.float32]", weights: "NDArray[np.float64]") -> None:
        import numpy as np

        self.members = {index: [index] for index in range(len(vectors))}
        self._sums = vectors.astype(np.float64) * weights[:, None]
        lengths = np.linalg.norm(self._sums, axis=1, keepdims=True)
        self._units = (self._sums / np.maximum(lengths, 1e-12)).astype(np.float32)
        self._alike = self._units @ self._units.T
        np.fill_diagonal(self._alike, _BELOW_ALL)
        self._merged = np.zeros(len(vectors), bool)
        self._nearest = self._alike.argmax(axis=1)
        self._cosines = self._alike.max(axis=1)
        self._is_bound = np.zeros(len(vectors), bool)

    def closest(self) -> tuple[int, int, float]:
        """Return the two closest groups, the earlier one first, and their cosine."""
        while self._is_bound[index := int(self._cosines.argmax())]:
            self._update_nearest(index)
        one, other = sorted((index, int(self._nearest[index])))
        return one, other, float(self._cosines[index])

    def join(self, one: int, other: int) -> None:
        import numpy as np

        self.members[one] += self.members.pop(other)
        self._sums[one] += self._sums[other]
        length = max(float(np.linalg.norm(self._sums[one])), 1e-12)
        self._units[one] = self._sums[one] / length
        self._merged[other] = True
        self._set(other, np.full(len(self._merged), _BELOW_ALL, np.float32))
        cosines = self._units @ self._units[one]
        cosines[self._merged] = cosines[one] = _BELOW_ALL
        self._set(one, cosines)
        self._is_bound |= (self._nearest == one) | (self._nearest == other)
        self._update_nearest(one)
        self._update_nearest(other)
        nearer = np.flatnonzero(cosines > self._cosines)
        self._nearest[nearer], self._cosines[nearer] = one, cosines[nearer]
        self._is_bound[nearer] = False

    def _update_nearest(self, index: int) -> None:
        self._nearest[index] = nearest = int(self._alike[index].argmax())
        self._cosines[index] = self._alike[index, nearest]
        self._is_bound[index] = False

    def _set(self, index: int, cosines: "NDArray[np.float32]") -> None:
        self._alike[index] = self._alike[:, index] = cosines


_PIECE = 1.5
"""Seconds of speech per voice vector."""


@dataclass(frozen=True)
class VoiceVector:
    """Voice vector of the sound from `start` to `end`."""

    start: float
    end: float
    vector: "Vector"
    weight: int


@dataclass
class ClusteringDiarizer:
    """Cluster the voices of pieces of the spans, which are processed one by one."""

    encoder: VoiceEncoder
    threshold: float
    max_speakers: int

    @property
    def label(self) -> str:
        return self.encoder.label

    def voice_of(self, sound: "MonoSamples", start: float, end: float) -> VoiceVector | None:
        """Return the voice of a piece, or None if it is shorter than 0.1 s."""
        if len(sound) < RATE // 10:
            return None
        return VoiceVector(start, end, self.encoder.vector(sound), len(sound))

    def turns(self, voices: Iterable[VoiceVector]) -> list[SpeakerTurn]:
        import numpy as np

        ordered = sorted(voices, key=lambda one: (one.start, one.end))
        if not ordered:
            return []
        vectors = np.stack([one.vector for one in ordered])
        weights = np.array([one.weight for one in ordered], np.float64)
        numbers = cluster_voices(vectors, weights, self.threshold, self.max_speakers)
        return [
            SpeakerTurn(one.start, one.end, f"speaker_{number}")
            for one, number in zip(ordered, numbers, strict=True)
        ]


def cut_spans(spans: Iterable[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    """Cut spans of speech into pieces so short that each likely has one speaker."""
    for start, end in spans:
        if end <= start:
            continue
        count = max(1, round((end - start) / _PIECE))
        length = (end - start) / count
        for number in range(count):
            yield start + number * length, start + (number + 1) * length
