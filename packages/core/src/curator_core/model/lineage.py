"""Ids and credit: how the framework knows when every part of a source is done.

A source's task carries credit 1 of that source. Whatever is made of it shares that credit out
exactly, so a source is finished at the moment when all of its credit has come back.
"""

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from hashlib import blake2b
from typing import TypeAlias

SourceKey: TypeAlias = tuple[str, int]
"""A source's id and the attempt at it: what a late attempt reports can be told apart."""

Lineage: TypeAlias = dict[SourceKey, Fraction]
"""How much of which sources a task stands for. Shared between tasks: never changed in place."""

WHOLE = Fraction(1)
HALF = Fraction(1, 2)


def fingerprint(*parts: str | bytes) -> str:
    """A 128-bit hash, as 32 hex digits, in which the borders between parts count."""
    digest = blake2b(digest_size=16)
    for part in parts:
        raw = part.encode("utf-8", "surrogateescape") if isinstance(part, str) else part
        digest.update(len(raw).to_bytes(8, "big"))
        digest.update(raw)
    return digest.hexdigest()


def whole(source_id: str, attempt: int) -> Lineage:
    """The credit that a source's own task starts with."""
    return {(source_id, attempt): WHOLE}


def source_of(lineage: Lineage) -> str:
    """The source that a task comes from; the first one, where it comes from several."""
    return next(iter(lineage), ("", 0))[0]


def equal_share(lineage: Lineage, parts: int) -> Lineage:
    """One of `parts` equal shares."""
    if parts == 1:
        return lineage
    return {key: credit / parts for key, credit in lineage.items()}


def halved(lineages: Iterable[Lineage]) -> Iterator[Lineage]:
    """Half of each. Those that came together share their fractions, which cost a lot to make."""
    known: dict[int, tuple[Fraction, Fraction]] = {}
    for lineage in lineages:
        half = {}
        for key, credit in lineage.items():
            if (found := known.get(id(credit))) is None:
                found = known[id(credit)] = (credit, HALF if credit == WHOLE else credit / 2)
            half[key] = found[1]
        yield half


def next_share(lineage: Lineage, position: int) -> Lineage:
    """The share of output number `position` (from 0) where nobody knows how many will come.

    The shares 1/2, 1/6, 1/12, … add up to n/(n+1), so their sum and the rest stay small fractions.
    """
    divisor = (position + 1) * (position + 2)
    return {key: credit / divisor for key, credit in lineage.items()}


def rest_share(lineage: Lineage, given: int) -> Lineage:
    """What is left after `given` outputs took their `next_share`."""
    return equal_share(lineage, given + 1)


def combined(lineages: Iterable[Lineage]) -> Lineage:
    """The credit of several tasks together."""
    total: Lineage = {}
    for lineage in lineages:
        for key, credit in lineage.items():
            total[key] = total[key] + credit if key in total else credit
    return total


def child_id(parent: str, position: int) -> str:
    return f"{parent}.{position}"


def mixed_id(parents: Sequence[str]) -> str:
    """The id that stands for several tasks, whichever order they came in."""
    return parents[0] if len(parents) == 1 else fingerprint(*sorted(parents))
