"""Clustering: vectors that are alike become one speaker, the most alike first."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def clusters(
    vectors: "NDArray[np.float32]",
    weights: "NDArray[np.float64]",
    threshold: float,
    most: int,
) -> list[int]:
    """For each vector the number of its speaker, counted in the order in which they come.

    Groups are joined as long as the cosine between their weighted sums is above the threshold, or
    there are too many of them.
    """
    import numpy as np

    sums = vectors.astype(np.float64) * weights[:, None]
    members = [[place] for place in range(len(vectors))]
    while len(members) > 1:
        units = sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-12)
        alike = units @ units.T
        np.fill_diagonal(alike, -2)
        one, other = sorted(divmod(int(alike.argmax()), len(members)))
        if alike[one, other] < threshold and len(members) <= most:
            break
        sums[one] += sums[other]
        sums = np.delete(sums, other, axis=0)
        members[one] += members.pop(other)
    numbers = {place: n for n, group in enumerate(sorted(members, key=min)) for place in group}
    return [numbers[place] for place in range(len(vectors))]
