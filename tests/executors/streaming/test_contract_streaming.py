"""The executor contract for the streaming executor."""

import pytest
from curator_core import Executor
from curator_core.testing import ExecutorContract
from curator_core.testing.executor_contract import (
    FailuresContract,
    LifetimesContract,
    ResultsContract,
)
from curator_streaming.executor import StreamingExecutor


@pytest.mark.usefixtures("private_ray")
class TestStreaming(ExecutorContract):
    def make_executor(self) -> Executor:
        return StreamingExecutor(config={"object_store_gb": 0.3})


@pytest.mark.soak  # test_agreement.py covers it briefly in every run
@pytest.mark.usefixtures("private_ray")
class TestBatch(ResultsContract, FailuresContract, LifetimesContract):
    """Batch mode of the same scheduler.

    Without the tests that need finished sources before the last stage starts, and without those
    that barriers do not affect: pickling, records and retries.
    """

    test_after_an_interruption = None
    test_after_the_sudden_end_of_the_driver = None
    test_a_stage_that_cannot_travel_is_named = None
    test_an_output_that_cannot_travel_is_named = None
    test_stages_may_be_defined_in_the_script_itself = None
    test_stages_need_not_be_importable = None
    test_tables_travel = None
    test_ids_are_the_same_in_every_run = None
    test_what_the_author_noted_is_carried_along = None
    test_nothing_to_do_is_an_error_unless_it_is_allowed = None
    test_retries_wait_longer_each_time = None
    test_retries_come_to_an_end = None
    test_skipped_failures_are_counted_and_not_kept = None

    def make_executor(self) -> Executor:
        return StreamingExecutor(config={"execution_mode": "batch"})
