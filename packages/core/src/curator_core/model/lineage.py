"""Lineage: credit that determines when every part of a source is done.

The task of a source carries credit 1 of it. Everything made from the task shares that credit
exactly, so a source is done when all of its credit has been returned.
"""

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import TypeAlias

SourceKey: TypeAlias = tuple[str, int]
"""Id of a source and number of the attempt, to recognize reports of earlier attempts."""

Lineage: TypeAlias = dict[SourceKey, Fraction]
"""Credit of a task per source. Shared between tasks: never changed in place."""

WHOLE = Fraction(1)
HALF = Fraction(1, 2)


def whole_credit(source_id: str, attempt: int) -> Lineage:
    """Return the credit of a source's own task."""
    return {(source_id, attempt): WHOLE}


def source_of(lineage: Lineage) -> str:
    """Return the source that a task comes from, or the first of several."""
    return next(iter(lineage), ("", 0))[0]


def equal_share(lineage: Lineage, parts: int) -> Lineage:
    """Return one of `parts` equal shares."""
    if parts == 1:
        return lineage
    return {key: credit / parts for key, credit in lineage.items()}


def halve_all(lineages: Iterable[Lineage]) -> Iterator[Lineage]:
    """Yield half of each. Shared fractions are halved once, because making fractions is slow."""
    known: dict[int, tuple[Fraction, Fraction]] = {}
    for lineage in lineages:
        half = {}
        for key, credit in lineage.items():
            if (found := known.get(id(credit))) is None:
                found = known[id(credit)] = (credit, HALF if credit == WHOLE else credit / 2)
            half[key] = found[1]
        yield half


def next_share(lineage: Lineage, position: int) -> Lineage:
    """Return the share of output number `position` (from 0) when the number of outputs is unknown.

    The shares 1/2, 1/6, 1/12, … add up to n/(n+1), so their sum and the rest stay small fractions.
    """
    divisor = (position + 1) * (position + 2)
    return {key: credit / divisor for key, credit in lineage.items()}


def rest_share(lineage: Lineage, given: int) -> Lineage:
    """Return the credit that remains after `given` outputs took their `next_share`."""
    return equal_share(lineage, given + 1)


def add_credits(lineages: Iterable[Lineage]) -> Lineage:
    """Return the sum of several lineages."""
    total: Lineage = {}
    for lineage in lineages:
        for key, credit in lineage.items():
            total[key] = total[key] + credit if key in total else credit
    return total
