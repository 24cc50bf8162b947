"""Opinions: the results of a compiled rule for some rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from curator_text.compiled.documents import Documents, Subject
from curator_text.compiled.kernels import Array

STAYS, ASK = -1, -2
"""Codes in place of a reason: the row is kept; Python must decide."""


@dataclass
class Asked:
    """Some rows of a column, and all rules that are applied to the column."""

    documents: Documents
    rules: Sequence[Any]
    rows: Array

    def counts(self, subject: Subject) -> Array:
        return self.documents.counts(subject, self.rows)


class Opinion(NamedTuple):
    """For each row, an index into `reasons` or a code, and a score if the rule has scores."""

    codes: Array
    reasons: Sequence[str]
    scores: Array | None = None


class Form(Protocol):
    """A rule's compiled form."""

    def fits(self, rule: Any) -> bool:
        """Whether it supports the rule's options."""

    def opinion(self, rule: Any, asked: Asked) -> Opinion:
        """Judge the rows by the rule."""


def first_reason(rows: int, found: Sequence[tuple[str, Array]]) -> Opinion:
    """Return an opinion with the first reason that holds for each row."""
    codes = np.full(rows, STAYS, np.int64)
    for place, (_, holds) in reversed(list(enumerate(found))):
        codes[holds] = place
    return Opinion(codes, [reason for reason, _ in found])
