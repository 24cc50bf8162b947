"""Ordering: run cheap rules first where the order cannot change which documents are kept."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from curator_core import AnyStage, CompositeStage, ProcessingStage
from curator_core.errors import PipelineError
from curator_core.model.stages import flatten

from curator_text.filtering import TextFilter
from curator_text.scoring import RuleRow, ScoreFilter


@dataclass
class CheapestFirst(RuleRow):
    """Runs the cheapest filters first, so that expensive ones see fewer documents.

    The same documents are kept, with the same scores. A document that fails several rules is
    counted under the first one it fails, so counts per rule depend on the new order.
    """

    filters: Sequence[TextFilter | ScoreFilter | Callable[[str], bool | float]]
    """Text filters and functions of a text. No filter may read a column that another one adds."""

    def __post_init__(self) -> None:
        self.decompose()

    def decompose(self) -> Sequence[AnyStage]:
        stages = flatten([_stage(rule) for rule in self.filters])
        rules = [rule for rule in stages if isinstance(rule, TextFilter)]
        others = [getattr(s, "name", repr(s)) for s in stages if not isinstance(s, TextFilter)]
        if others:
            raise PipelineError(
                f"CheapestFirst cannot move {', '.join(others)}: what it says may hang on its "
                "place; leave it in the pipeline where it stands"
            )
        read = {rule.text_field for rule in rules}
        for rule in rules:
            if rule.score_field in read:
                raise PipelineError(
                    f"{rule.name} adds {rule.score_field!r}, which another filter reads, so "
                    "their order matters; take it out of CheapestFirst"
                )
        return sorted(rules, key=lambda rule: rule.cost)


def _stage(rule: AnyStage | Callable[[str], bool | float]) -> AnyStage:
    return rule if isinstance(rule, ProcessingStage | CompositeStage) else ScoreFilter(rule)
