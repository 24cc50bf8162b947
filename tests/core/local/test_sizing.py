"""Number of workers, and missing resources."""

import pytest
from curator_core import Pipeline, ProcessingStage, Resources, Task
from curator_core.local import sizing
from curator_core.local.executor import LocalExecutor
from curator_core.local.sizing import unmet_demands, workers_for
from curator_core.plan.plan import Plan


class Same(ProcessingStage[Task[int], Task[int]]):
    def process(self, task: Task[int]) -> Task[int]:
        return task


def plan(*resources: Resources, **changes: object) -> Plan:
    stages = [
        Same().with_(name=f"stage_{number}", resources=one, **changes)
        for number, one in enumerate(resources)
    ]
    return Pipeline("job", stages=stages)._make_plan(None)


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """8 cores, 16 GB, 2 GPUs."""
    monkeypatch.setattr(sizing, "available_cpus", lambda: 8)
    monkeypatch.setattr(sizing, "total_memory_gb", lambda: 16.0)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")


@pytest.mark.parametrize(
    ("resources", "asked", "workers"),
    [
        ([Resources()], None, 8),
        ([Resources(cpus=0.1)], None, 8),
        ([Resources(cpus=3), Resources(cpus=1)], None, 2),
        ([Resources(cpus=99)], None, 1),
        ([Resources(cpus=3)], 5, 5),
        ([Resources(memory_gb=3), Resources(memory_gb=1)], None, 4),
        ([Resources(memory_gb=12)], 3, 1),
        ([Resources(gpus=1)], None, 2),
        ([Resources(gpu_memory_gb=4), Resources(gpus=0.5)], None, 1),
        ([Resources(gpus=0.5)], None, 4),
    ],
)
def test_the_number_of_workers_fits_all_stages_together(
    resources: list[Resources], asked: int | None, workers: int
) -> None:
    assert workers_for(plan(*resources), asked) == workers


def test_a_stage_may_limit_the_number() -> None:
    assert workers_for(plan(Resources(), Resources(), num_workers=3), None) == 3


@pytest.mark.parametrize(
    ("resources", "problem"),
    [
        (
            Resources(gpus=4),
            "stage 1 'stage_0' asks for 4 GPU, but this machine has 2; run it where there is one, "
            "or set its resources without a GPU if it can do without",
        ),
        (
            Resources(memory_gb=64),
            "stage 1 'stage_0' asks for 64 GB of memory, but this machine has 16.0 GB; "
            "ask for less, or run on a cluster",
        ),
        (
            Resources(custom={"tpu": 1}),
            "stage 1 'stage_0' asks for the custom resource tpu, which only a cluster has; "
            "use the executor 'streaming'",
        ),
    ],
)
def test_missing_resources_are_reported(resources: Resources, problem: str) -> None:
    assert list(unmet_demands(plan(resources), in_process=False)) == [problem]


def test_sufficient_resources_are_accepted() -> None:
    assert (
        list(unmet_demands(plan(Resources(cpus=64, gpus=2, memory_gb=16)), in_process=True)) == []
    )


def test_a_negative_number_of_workers() -> None:
    with pytest.raises(ValueError, match="workers is -1, but must be 0"):
        LocalExecutor(workers=-1)
