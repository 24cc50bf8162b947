"""Totals: the accounts of all stages, to which commits are added and from which they are taken."""

from collections.abc import Mapping
from typing import TypeAlias

from curator_core.results import StageCounts

Totals: TypeAlias = dict[int, StageCounts]


def add_to(totals: Totals, counts: Mapping[int, StageCounts]) -> None:
    for index, more in counts.items():
        totals.setdefault(index, StageCounts()).add(more)


def take_from(totals: Totals, counts: Mapping[int, StageCounts]) -> None:
    for index, less in counts.items():
        total = totals.setdefault(index, StageCounts())
        total.add(less.negative())
        total.reasons = {reason: items for reason, items in total.reasons.items() if items}
        total.models = {model: items for model, items in total.models.items() if items}
        total.scores = {name: scores for name, scores in total.scores.items() if scores}
