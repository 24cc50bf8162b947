"""Shares: how many rows each source, and each batch of a source, gives to a blend."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate, pairwise


def apportioned(total: int, weights: Sequence[float]) -> list[int]:
    """Whole numbers in these proportions that add up to `total`, none off by a whole row.

    Largest remainders: everybody gets what is certain, and the largest rests get one more.
    """
    exact = [Fraction(weight) for weight in weights]
    quotas = [total * weight / sum(exact) for weight in exact]
    given = [int(quota) for quota in quotas]
    by_rest = sorted(range(len(quotas)), key=lambda i: (given[i] - quotas[i], i))
    for place in by_rest[: total - sum(given)]:
        given[place] += 1
    return given


def most_without_repeating(counts: Sequence[int], weights: Sequence[float]) -> int:
    """The largest total for which no source is to give more rows than it has.

    A rest that is rounded up does no harm: what a source has is a whole number too.
    """
    whole = sum(map(Fraction, weights))
    pairs = zip(counts, weights, strict=True)
    return min(int(count * whole / Fraction(weight)) for count, weight in pairs)


def spread(wanted: int, counts: Sequence[int]) -> list[int]:
    """How many rows to take of each batch so that they are `wanted` together, evenly spread."""
    total = sum(counts)
    edges = [0, *accumulate(counts)]
    return [wanted * end // total - wanted * start // total for start, end in pairwise(edges)]
