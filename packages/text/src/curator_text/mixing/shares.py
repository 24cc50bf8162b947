"""Shares: how many rows each source, and each batch of a source, contributes to a blend."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate, pairwise


def apportioned(total: int, weights: Sequence[float]) -> list[int]:
    """Return integers proportional to the weights that add up to `total`.

    Uses the largest remainder method, so each number is less than 1 off its exact share.
    """
    exact = [Fraction(weight) for weight in weights]
    quotas = [total * weight / sum(exact) for weight in exact]
    given = [int(quota) for quota in quotas]
    by_rest = sorted(range(len(quotas)), key=lambda i: (given[i] - quotas[i], i))
    for place in by_rest[: total - sum(given)]:
        given[place] += 1
    return given


def most_without_repeating(counts: Sequence[int], weights: Sequence[float]) -> int:
    """Return the largest total for which no source must contribute more rows than it has.

    Rounding up is safe, because the number of rows in a source is an integer too.
    """
    whole = sum(map(Fraction, weights))
    pairs = zip(counts, weights, strict=True)
    return min(int(count * whole / Fraction(weight)) for count, weight in pairs)


def spread(wanted: int, counts: Sequence[int]) -> list[int]:
    """Return how many rows to take from each batch, evenly spread, `wanted` in total."""
    total = sum(counts)
    edges = [0, *accumulate(counts)]
    return [wanted * end // total - wanted * start // total for start, end in pairwise(edges)]
