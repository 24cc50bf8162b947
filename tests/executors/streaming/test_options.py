"""Options: names, values, and the settings of the scheduler that follow from them."""

import sys
from typing import Any

import pytest
from curator_core import Pipeline, Task, processing_stage
from curator_core.errors import PipelineError
from curator_streaming.executor import StreamingExecutor
from curator_streaming.options import StreamingOptions


class TestConfig:
    def test_an_unknown_key_names_the_nearest(self) -> None:
        with pytest.raises(PipelineError) as at:
            StreamingOptions.from_config({"loging_interval": 5, "worker_max_task": 1})

        assert at.value.problems == [
            "the streaming executor has no option 'loging_interval' "
            "(did you mean logging_interval?)",
            "the streaming executor has no option 'worker_max_task' "
            "(did you mean worker_max_tasks?)",
        ]

    def test_known_keys_are_accepted(self) -> None:
        config = {"execution_mode": "streaming", "logging_interval": 60, "ignore_failures": True}

        assert StreamingOptions.from_config(config) == StreamingOptions(ignore_failures=True)

    @pytest.mark.parametrize(
        ("config", "message"),
        [
            (
                {"execution_mode": "bath"},
                r"execution_mode is 'bath', but must be 'streaming' .*did you mean batch\?",
            ),
            (
                {"autoscale_interval_s": "180"},
                "autoscale_interval_s is '180', but must be a number",
            ),
            ({"slots_per_worker": 1.5}, "slots_per_worker is 1.5, but must be a whole number"),
            ({"ignore_failures": "no"}, "ignore_failures is 'no', but must be True or False"),
            ({"dashboard": 8265}, "dashboard is 8265, but must be True or False"),
            ({"object_store_gb": 0}, "object_store_gb is 0, but must be more than 0"),
            ({"shrink_limit_s": 0}, "shrink_limit_s is 0, but must be more than 0"),
            ({"worker_restart_interval_m": -1}, "worker_restart_interval_m is -1, but must be 0"),
            ({"cpu_allocation_percentage": 95}, "is 95, but must be above 0, at most 1"),
            ({"autoscale_interval_s": 0}, "autoscale_interval_s is 0, but must be more than 0"),
            ({"slots_per_worker": 0}, "slots_per_worker is 0, but must be more than 0"),
            ({"worker_max_tasks": -1}, r"worker_max_tasks is -1, but must be 0 \(no limit\)"),
            ({"max_queued_bytes": 0}, "max_queued_bytes is 0, but must be more than 0"),
        ],
    )
    def test_wrong_values_are_refused(self, config: dict[str, Any], message: str) -> None:
        with pytest.raises(PipelineError, match=message):
            StreamingOptions.from_config(config)


class TestEffects:
    @pytest.mark.parametrize(
        ("cpus", "share", "used"),
        [(2, 0.95, 2), (64, 0.95, 61), (64, 0.5, 32), (2, 0.5, 1), (1, 0.1, 1), (0, 0.9, 0)],
    )
    def test_whole_cpus_are_left_to_other_jobs(
        self, cpus: float, share: float, used: float
    ) -> None:
        assert StreamingOptions(cpu_allocation_percentage=share).usable_cpus(cpus) == used

    def test_the_budget_is_half_of_the_object_store_unless_given(self) -> None:
        assert StreamingOptions().settings(4e9).max_queued_bytes == 2_000_000_000
        assert StreamingOptions(max_queued_bytes=5).settings(4e9).max_queued_bytes == 5

    def test_lifetimes_reach_the_scheduler_in_its_units(self) -> None:
        options = StreamingOptions(
            worker_max_lifetime_m=2, worker_max_tasks=7, worker_max_rss_gb=0.5, slots_per_worker=3
        )

        settings = options.settings(1e9)

        assert (settings.worker_max_lifetime_s, settings.worker_max_tasks) == (120, 7)
        assert (settings.worker_max_rss, settings.slots_per_worker) == (1 << 29, 3)

    def test_the_options_of_nemo_curator_are_accepted(self) -> None:
        options = StreamingOptions.from_config(
            {
                "execution_mode": "streaming",
                "cpu_allocation_percentage": 0.95,
                "autoscale_interval_s": 180,
                "logging_interval": 60,
            }
        )

        settings = options.settings(1e9)

        assert (settings.autoscale_interval_s, settings.remind_s) == (180, 60)
        assert not settings.has_barriers

    def test_modes_intervals_and_limits_reach_the_scheduler(self) -> None:
        options = StreamingOptions(
            execution_mode="batch", worker_restart_interval_m=0.5, shrink_limit_s=20
        )

        settings = options.settings(3e9, 1e9)

        assert settings.has_barriers
        assert (settings.worker_restart_interval_s, settings.shrink_limit_s) == (30, 20)
        assert settings.store_bytes == 1e9


def test_without_ray_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    pipeline = Pipeline("plain", stages=[processing_stage(same)])
    with pytest.raises(PipelineError, match=r"needs Ray, .* choose another \(CURATOR_EXECUTOR=lo"):
        pipeline.build(StreamingExecutor(), tasks=[])


def same(task: Task[int]) -> Task[int]:
    return task
