"""Opinions: what a compiled rule says of some rows at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from curator_text.compiled.documents import Documents, Subject
from curator_text.compiled.kernels import Array

STAYS, ASK = -1, -2
"""Instead of a reason: the row stays; Python must say."""


@dataclass
class Asked:
    """Some rows of a column, and all the rules that are asked about it."""

    documents: Documents
    rules: Sequence[Any]
    rows: Array

    def counts(self, subject: Subject) -> Array:
        return self.documents.counts(subject, self.rows)


class Opinion(NamedTuple):
    """For each row a score, where there are scores, and the place of its reason in `reasons`."""

    codes: Array
    reasons: Sequence[str]
    scores: Array | None = None


class Form(Protocol):
    """A rule's compiled form."""

    def fits(self, rule: Any) -> bool:
        """Whether it can stand for the rule with these options."""

    def opinion(self, rule: Any, asked: Asked) -> Opinion:
        """What the rule says, row by row."""


def first_reason(rows: int, found: Sequence[tuple[str, Array]]) -> Opinion:
    """The first reason that holds for each row."""
    codes = np.full(rows, STAYS, np.int64)
    for place, (_, holds) in reversed(list(enumerate(found))):
        codes[holds] = place
    return Opinion(codes, [reason for reason, _ in found])
