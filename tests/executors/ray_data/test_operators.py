"""Which stages are run together, and whether in tasks or in actors."""

from typing import Any

import pytest
from curator_core import Pipeline, ProcessingStage, Resources, Task
from curator_core.plan.plan import PlannedStage
from curator_core.testing.contract.stages import Adds, Lives
from curator_ray_data.hinting import is_concurrency, wrong_hints
from curator_ray_data.operators import Operator, operators_of


class Splits(Adds):
    fans_out = True


def planned(*stages: ProcessingStage[Any, Any]) -> tuple[PlannedStage, ...]:
    named = [stage.with_(name=f"s{number}") for number, stage in enumerate(stages)]
    return Pipeline("p", stages=named).build(tasks=[Task(1)]).stages


def names(*stages: ProcessingStage[Any, Any]) -> list[str]:
    return [operator.name for operator in operators_of(planned(*stages))]


def one(stage: ProcessingStage[Any, Any]) -> Operator:
    [operator] = operators_of(planned(stage))
    return operator


class TestTogether:
    def test_neighbours_that_need_the_same(self) -> None:
        assert names(Adds(1), Adds(2), Lives("log")) == ["s0->s1->s2"]

    def test_a_fan_out_ends_a_line(self) -> None:
        assert names(Adds(1), Splits(1), Adds(1), Adds(2)) == ["s0->s1", "s2->s3"]

    @pytest.mark.parametrize(
        "changes",
        [
            {"resources": Resources(cpus=0.5)},
            {"resources": Resources(gpus=1)},
            {"num_workers": 2},
            {"runtime_env": {"env_vars": {"A": "1"}}},
            {"hints": {"ray_data": {"concurrency": 2}}},
        ],
        ids=["cpus", "gpus", "num_workers", "runtime_env", "hint"],
    )
    def test_who_wants_something_else_is_apart(self, changes: dict[str, Any]) -> None:
        assert names(Adds(1), Adds(2).with_(**changes), Adds(3)) == ["s0", "s1", "s2"]

    def test_two_with_devices_are_apart_even_if_alike(self) -> None:
        gpu = Adds(1).with_(resources=Resources(gpus=1))

        assert names(gpu, gpu) == ["s0", "s1"]


class TestWorkers:
    def test_no_state_is_a_task(self) -> None:
        assert not one(Adds(1)).needs_actors

    def test_a_setup_a_device_and_a_number_are_actors(self) -> None:
        assert one(Lives("log")).needs_actors
        assert one(Adds(1).with_(resources=Resources(gpus=1))).needs_actors
        assert one(Adds(1).with_(num_workers=3)).needs_actors

    def test_numbers(self) -> None:
        assert one(Adds(1)).concurrency is None
        assert one(Adds(1).with_(num_workers=3)).concurrency == (3, 3)
        hinted = Adds(1).with_(hints={"ray_data": {"concurrency": [1, 4]}})
        assert one(hinted).concurrency == (1, 4)

    def test_batches_are_wanted_only_where_a_stage_does(self) -> None:
        assert one(Adds(1)).batch_size is None
        assert one(Adds(1).with_(batch_size=16)).batch_size == 16
        assert one(Adds(1).with_(resources=Resources(gpus=1))).batch_size == 1


class TestHints:
    def test_what_is_no_hint_is_named(self) -> None:
        stage = Adds(1).with_(hints={"ray_data": {"concurency": 2}})
        plan = Pipeline("p", stages=[stage]).build(tasks=[Task(1)])

        [problem] = wrong_hints(plan)
        assert "no ray_data hint 'concurency' (did you mean concurrency?)" in problem

    def test_a_wrong_value_is_named(self) -> None:
        stage = Adds(1).with_(hints={"ray_data": {"concurrency": [4, 1]}})
        plan = Pipeline("p", stages=[stage]).build(tasks=[Task(1)])

        [problem] = wrong_hints(plan)
        assert "is [4, 1], but must be a number of workers, or the fewest and the most" in problem

    @pytest.mark.parametrize("value", [0, True, "2", [1], [0, 1], 1.5, None])
    def test_values_that_cannot_be_meant(self, value: object) -> None:
        assert not is_concurrency(value)
