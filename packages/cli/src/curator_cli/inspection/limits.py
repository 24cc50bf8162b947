"""Limits of filters, from the values of a sample: each comes with the share that it drops."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

from curator_core.plugins.registry import Plugins

from curator_cli.inspection.proposal import Option, Step
from curator_cli.inspection.quantiles import lower_limit, outer_limit, percent, upper_limit

FEWEST = 20
"""Fewer records say too little about the others to derive limits from them."""

TOO_FEW = f"fewer than {FEWEST} records: too few to derive limits from"

_MOST_BY_USUAL_LIMIT = 0.1
"""If the usual limit would drop more than this share, it does not suit the data."""


@dataclass(frozen=True)
class Bound:
    """An option that is a limit: on which side, what share it may drop, and how to say so."""

    option: str
    side: Literal["low", "high"]
    share: float
    words: str
    whole: bool = False

    def limit(self, values: Sequence[float]) -> float | None:
        """Return the limit that drops about this share, or None if it would drop nothing."""
        choose = lower_limit if self.side == "low" else upper_limit
        return choose(values, self.share, whole=self.whole)

    def dropped(self, values: Sequence[float], limit: float) -> float:
        """Return the share of the values beyond a limit."""
        if self.side == "low":
            return sum(value < limit for value in values) / len(values)
        return sum(value > limit for value in values) / len(values)


@dataclass(frozen=True)
class LimitRule:
    """A filter and its limits. `measure` is the fact that it compares, if stages add it."""

    stage: str
    bounds: Sequence[Bound]
    measure: str = ""


def limit_step(
    plugins: Plugins,
    rule: LimitRule,
    values: Sequence[float],
    things: str,
    given: Sequence[Option] = (),
) -> Step | None:
    """Return the filter with limits that drop a small share of the values, or None.

    Every limit is written down: a default that is not would drop records without a word.
    """
    kinds = {option.name: option for option in fields(plugins.stages.load(rule.stage))}
    found = {
        bound.option: _option(bound, values, kinds[bound.option].default, things)
        for bound in rule.bounds
    }
    if not any(found.values()):
        return None
    options = [
        found[bound.option] or _without_effect(bound, values, kinds[bound.option])
        for bound in rule.bounds
    ]
    return Step(rule.stage, [*given, *(option for option in options if option is not None)])


def _without_effect(bound: Bound, values: Sequence[float], kind: Any) -> Option | None:
    """Return a limit that drops nothing of the sample, or None if there is none by default."""
    if kind.default is None:
        return None
    if "None" in str(kind.type):
        return Option(bound.option, None, "no limit")
    if bound.side == "low":
        return Option(bound.option, outer_limit(values, "low"), "nothing in the sample is below")
    return Option(bound.option, outer_limit(values, "high"), "nothing in the sample is above")


def _option(bound: Bound, values: Sequence[float], usual: Any, things: str) -> Option | None:
    """Return the limit of the sample; if it drops nothing, the usual one if that drops a little.

    A sample has no limit of its own if more records than its share have the extreme value.
    """
    if not values:
        return None
    limit = bound.limit(values)
    if limit is not None:
        text = f"{percent(bound.dropped(values, limit))} of your {things} {bound.words}"
        return Option(bound.option, limit, text)
    if not isinstance(usual, int | float):
        return None
    share = bound.dropped(values, usual)
    if not 0 < share <= _MOST_BY_USUAL_LIMIT:
        return None
    return Option(bound.option, usual, f"the usual limit: {percent(share)} {bound.words}")
