"""Operators: which stages one operator of the Ray Data job runs, and whether in tasks or actors."""

from collections.abc import Sequence
from dataclasses import dataclass

from curator_core import PlannedStage, ProcessingStage, Resources

_PLAIN = ProcessingStage


@dataclass(frozen=True)
class Operator:
    """Neighbouring stages that are run in one call."""

    stages: tuple[PlannedStage, ...]

    @property
    def name(self) -> str:
        return "->".join(planned.name for planned in self.stages)

    @property
    def step(self) -> tuple[int, int]:
        return self.stages[0].index, self.stages[-1].index

    @property
    def resources(self) -> Resources:
        return self.stages[0].resources

    @property
    def concurrency(self) -> tuple[int, int | None] | None:
        """The fewest and the most workers; None where nobody has said."""
        first = self.stages[0]
        hinted = first.hints.get("ray_data", {}).get("concurrency", first.num_workers)
        if hinted is None:
            return None
        return (hinted, hinted) if isinstance(hinted, int) else (hinted[0], hinted[1])

    @property
    def needs_actors(self) -> bool:
        """Whether its workers are kept: they hold something, or somebody said how many."""
        held = self.resources.needs_gpu or self.concurrency is not None
        return held or any(keeps_state(planned) for planned in self.stages)

    @property
    def batch_size(self) -> int | None:
        """How many tasks are wanted at once; None where blocks are taken as they come.

        Ray Data wants to be told whenever a stage has a GPU.
        """
        most = max(planned.batch_size for planned in self.stages)
        return most if most > 1 or self.resources.needs_gpu else None


def keeps_state(planned: PlannedStage) -> bool:
    """Whether it is set up, or torn down, or prepares its node."""
    kind = type(planned.stage)
    methods = ("setup", "teardown", "setup_on_node")
    return any(getattr(kind, name) is not getattr(_PLAIN, name) for name in methods)


def operators_of(stages: Sequence[PlannedStage]) -> list[Operator]:
    """Neighbours are run together, unless they need different things or a fan-out stands between.

    What a fan-out gives is then shared by several workers.
    """
    operators: list[Operator] = []
    line: list[PlannedStage] = []
    for planned in stages:
        if line and not _go_together(line[-1], planned):
            operators.append(Operator(tuple(line)))
            line = []
        line.append(planned)
    return [*operators, Operator(tuple(line))]


def _go_together(before: PlannedStage, after: PlannedStage) -> bool:
    if before.fans_out or before.resources != after.resources:
        return False
    return not (_is_apart(before) or _is_apart(after))


def _is_apart(planned: PlannedStage) -> bool:
    """Whether it wants workers of its own."""
    wanted = planned.resources
    return bool(
        wanted.needs_gpu
        or wanted.custom
        or planned.runtime_env
        or planned.num_workers is not None
        or planned.hints.get("ray_data")
    )
