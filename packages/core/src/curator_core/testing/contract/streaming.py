"""Streaming: outputs arrive as they finish, and the reader may stop at any time."""

from pathlib import Path

import pytest

from curator_core.errors import StageError
from curator_core.pipeline import Pipeline
from curator_core.testing.contract.lifetimes import check_lives
from curator_core.testing.contract.logs import read_log, still_running
from curator_core.testing.contract.stages import Adds, Fails, Lists, Lives, Rests, Waits
from curator_core.testing.contract.trials import Trial, data, tasks


class StreamingContract(Trial):
    def test_the_first_output_comes_while_others_are_still_at_work(self, tmp_path: Path) -> None:
        gate = tmp_path / "gate"
        waits = Waits(str(gate), self.patience_s).with_(retries=0)
        pipeline = Pipeline("contract", stages=[waits, Adds(1)], on_error="fail")

        with pipeline.stream(self.make_executor(), tasks=tasks(range(6))) as stream:
            first = next(stream)
            gate.touch()
            others = list(stream)

        assert first.data == 1
        assert data(others) == [2, 3, 4, 5, 6]
        assert stream.result.sources_done == 6

    def test_a_reader_that_leaves_stops_the_work(self, tmp_path: Path) -> None:
        log = str(tmp_path / "log")
        pipeline = Pipeline("contract", stages=[Lists(1000), Lives(log), Rests(0.02)])

        with pipeline.stream(self.make_executor()) as stream:
            seen = [next(stream).data for _ in range(3)]

        events = read_log(log)
        assert len(set(seen)) == 3
        check_lives(events)
        assert len([event for event in events if event.kind == "process"]) < 1000
        assert not still_running(event.pid for event in events)

    def test_a_stream_may_be_closed_before_it_began(self, tmp_path: Path) -> None:
        log = str(tmp_path / "log")

        with Pipeline("contract", stages=[Lives(log)]).stream(
            self.make_executor(), tasks=tasks(range(3))
        ):
            pass

        check_lives(read_log(log))

    def test_a_failure_comes_out_of_the_stream(self) -> None:
        pipeline = Pipeline("contract", stages=[Fails(frozenset({5}))], on_error="fail")

        with (
            pytest.raises(StageError, match="number 5 is bad"),
            pipeline.stream(self.make_executor(), tasks=tasks(range(10))) as stream,
        ):
            list(stream)

    def test_two_runs_may_follow_each_other_on_one_executor(self) -> None:
        executor = self.make_executor()
        pipeline = Pipeline("contract", stages=[Adds(1)])

        runs = [data(pipeline.run(executor, tasks=tasks(numbers))) for numbers in ([1, 2], [3])]

        assert runs == [[2, 3], [4]]
