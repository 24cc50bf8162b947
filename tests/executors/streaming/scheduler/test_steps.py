"""Which stages run in one call."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from curator_core import Resources, processing_stage
from curator_core.model.documents import DocumentBatch
from curator_core.model.policies import ErrorPolicy
from curator_core.model.stages import ProcessingStage
from curator_core.plan.plan import PlannedStage
from curator_streaming.scheduler.placement import can_hold
from curator_streaming.scheduler.resources import GB, Capacity, Device, Need
from curator_streaming.scheduler.steps import plan_steps, split_spec


class Plain(ProcessingStage[DocumentBatch, DocumentBatch]):
    def process(self, task):
        return task


class Spreading(ProcessingStage[DocumentBatch, DocumentBatch]):
    def process(self, task):
        yield task


class Listing(ProcessingStage[DocumentBatch, DocumentBatch]):
    def process(self, task: DocumentBatch) -> list[DocumentBatch]:
        return [task]


class Annotated(ProcessingStage[DocumentBatch, DocumentBatch]):
    def process(self, task: DocumentBatch) -> DocumentBatch | None:
        return task


def planned(*stages):
    return [
        replace(PlannedStage.of(i, stage, ErrorPolicy(timeout_s=stage.timeout_s)), name=f"s{i}")
        for i, stage in enumerate(stages)
    ]


def names(*stages, **options):
    return [spec.name for spec in plan_steps(planned(*stages), **options)]


def test_neighbouring_cpu_stages_become_one_step():
    assert names(Plain(), Annotated(), Plain()) == ["s0+s1+s2"]


@pytest.mark.parametrize("spreading", [Spreading(), Listing()])
def test_a_step_ends_with_a_stage_that_fans_out(spreading):
    assert names(Plain(), spreading, Plain()) == ["s0+s1", "s2"]


def test_a_function_that_yields_fans_out():
    @processing_stage(name="many")
    def many(task: DocumentBatch) -> Iterator[DocumentBatch]:
        yield task

    assert names(many, Plain()) == ["s0", "s1"]


def test_a_step_ends_with_a_stage_known_to_fan_out():
    assert names(Plain(), Plain(), fans_out=["s0"]) == ["s0", "s1"]


@pytest.mark.parametrize(
    "changes",
    [
        {"resources": Resources(cpus=2)},
        {"resources": Resources(gpus=0.5)},
        {"hints": {"streaming": {"fuse": False}}},
        {"runtime_env": {"pip": ["x"]}},
        {"num_workers": 2},
    ],
)
def test_a_stage_with_different_settings_is_not_fused(changes):
    assert names(Plain(), Plain().with_(**changes), Plain()) == ["s0", "s1", "s2"]


@pytest.mark.parametrize(
    ("changes", "is_dedicated"),
    [
        ({"resources": Resources(cpus=2)}, False),
        ({"resources": Resources(gpu_memory_gb=2)}, True),
        ({"resources": Resources(custom={"disk": 1})}, True),
        ({"runtime_env": {"pip": ["x"]}}, True),
        ({"num_workers": 2}, True),
    ],
)
def test_stages_with_dedicated_workers(changes, is_dedicated):
    [spec] = plan_steps(planned(Plain().with_(**changes)))
    assert spec.is_dedicated is is_dedicated


def test_fused_stages_add_up_memory_and_time_limits():
    stage = Plain().with_(resources=Resources(memory_gb=2), timeout_s=3.0)
    [spec] = plan_steps(planned(stage, stage))
    assert spec.need.memory == 4 * GB
    assert spec.timeout_s == 6.0
    before, after = split_spec(spec, 0)
    assert (before.names, after.names, after.first) == (("s0",), ("s1",), 1)
    assert before.need.memory == after.need.memory == 2 * GB


def test_can_hold_counts_devices():
    need = Need.of(Resources(gpus=2))
    assert not can_hold(Capacity(4, 8 * GB, (Device("0", GB),)), need)
    assert can_hold(Capacity(4, 8 * GB, (Device("0"), Device("1"))), need)
