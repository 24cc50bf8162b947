"""Clustering: agglomerative grouping of voice vectors into speakers."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_NOTHING = -2.0
"""Less than any cosine."""


def clusters(
    vectors: "NDArray[np.float32]",
    weights: "NDArray[np.float64]",
    threshold: float,
    most: int,
) -> list[int]:
    """Return the speaker number of each vector, counted in order of appearance.

    The closest groups are joined while the cosine between their weighted sums is at least the
    threshold, or while there are more than `most` groups.
    """
    groups = _Groups(vectors, weights)
    while len(groups.members) > 1:
        one, other, cosine = groups.closest()
        if cosine < threshold and len(groups.members) <= most:
            break
        groups.join(one, other)
    ordered = sorted(groups.members.values(), key=min)
    numbers = {place: number for number, group in enumerate(ordered) for place in group}
    return [numbers[place] for place in range(len(vectors))]


class _Groups:
    """Groups that know their nearest neighbour, so that a join compares few vectors.

    If a group's neighbour was joined to another, the old cosine serves as an upper bound and is
    recomputed when needed.
    """

    def __init__(self, vectors: "NDArray[np.float32]", weights: "NDArray[np.float64]") -> None:
        import numpy as np

        self.members = {place: [place] for place in range(len(vectors))}
        self._sums = vectors.astype(np.float64) * weights[:, None]
        lengths = np.linalg.norm(self._sums, axis=1, keepdims=True)
        self._units = (self._sums / np.maximum(lengths, 1e-12)).astype(np.float32)
        self._alike = self._units @ self._units.T
        np.fill_diagonal(self._alike, _NOTHING)
        self._gone = np.zeros(len(vectors), bool)
        self._nearest = self._alike.argmax(axis=1)
        self._cosines = self._alike.max(axis=1)
        self._is_bound = np.zeros(len(vectors), bool)

    def closest(self) -> tuple[int, int, float]:
        """Return the two closest groups, the earlier one first, and their cosine."""
        while self._is_bound[place := int(self._cosines.argmax())]:
            self._look_at(place)
        one, other = sorted((place, int(self._nearest[place])))
        return one, other, float(self._cosines[place])

    def join(self, one: int, other: int) -> None:
        import numpy as np

        self.members[one] += self.members.pop(other)
        self._sums[one] += self._sums[other]
        length = max(float(np.linalg.norm(self._sums[one])), 1e-12)
        self._units[one] = self._sums[one] / length
        self._gone[other] = True
        self._set(other, np.full(len(self._gone), _NOTHING, np.float32))
        cosines = self._units @ self._units[one]
        cosines[self._gone] = cosines[one] = _NOTHING
        self._set(one, cosines)
        self._is_bound |= (self._nearest == one) | (self._nearest == other)
        self._look_at(one)
        self._look_at(other)
        nearer = np.flatnonzero(cosines > self._cosines)
        self._nearest[nearer], self._cosines[nearer] = one, cosines[nearer]
        self._is_bound[nearer] = False

    def _look_at(self, place: int) -> None:
        self._nearest[place] = nearest = int(self._alike[place].argmax())
        self._cosines[place] = self._alike[place, nearest]
        self._is_bound[place] = False

    def _set(self, place: int, cosines: "NDArray[np.float32]") -> None:
        self._alike[place] = self._alike[:, place] = cosines
