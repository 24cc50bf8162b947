"""Limits of filters, from the values of a sample: each comes with the share that it drops."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

from curator_core.plugins.registry import Plugins

from curator_cli.inspection.proposal import Option, Step
from curator_cli.inspection.quantiles import lower_limit, percent, upper_limit

_MOST_BY_USUAL_LIMIT = 0.2
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
    """Return the filter with limits that drop a small share of the values, or None."""
    usual = _default_options(plugins, rule.stage)
    options = [_option(bound, values, usual.get(bound.option), things) for bound in rule.bounds]
    found = [option for option in options if option is not None]
    unused = [
        Option(bound.option, None)
        for bound, option in zip(rule.bounds, options, strict=True)
        if option is None and usual.get(bound.option) is not None
    ]
    allowed = [option for option in unused if _may_be_none(plugins, rule.stage, option.name)]
    return Step(rule.stage, [*given, *found, *allowed]) if found else None


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


def _default_options(plugins: Plugins, stage: str) -> dict[str, Any]:
    return {option.name: option.default for option in fields(plugins.stages.load(stage))}


def _may_be_none(plugins: Plugins, stage: str, name: str) -> bool:
    kinds = {option.name: option.type for option in fields(plugins.stages.load(stage))}
    return "None" in str(kinds[name])
