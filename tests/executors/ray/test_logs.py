"""Lines of workers: warnings and errors come through, a few times each."""

import logging

import pytest
from curator_ray.logs import Catcher, Line, Relay


class TestCatcher:
    def test_keeps_what_matters_until_it_is_taken(self) -> None:
        catcher = Catcher()
        logger = logging.getLogger("test.catcher")
        logger.addHandler(catcher)
        logger.propagate = False
        logger.setLevel(logging.DEBUG)
        logger.info("all is well")
        logger.warning("file %s is damaged", "a.jsonl")
        assert catcher.take() == (
            Line("test.catcher", logging.WARNING, "file a.jsonl is damaged",
                 "file %s is damaged"),
        )  # fmt: skip
        assert catcher.take() == ()

    def test_a_flood_is_cut(self) -> None:
        catcher = Catcher()
        for number in range(1000):
            catcher.handle(
                logging.makeLogRecord({"levelno": 40, "name": "x", "msg": f"bad {number}"})
            )
        assert len(catcher.take()) == 50


class TestRelay:
    def test_alike_lines_of_all_workers_are_told_three_times(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        output: list[tuple[str, str]] = []
        relay = Relay(lambda worker, text: output.append((worker, text)))
        for number in range(5):
            line = Line("stage", logging.WARNING, f"file {number} is damaged", "file %s is damaged")
            relay.pass_on(str(number), [line], f"out {number}")
        assert [record.getMessage() for record in caplog.records] == [
            "worker 0: file 0 is damaged",
            "worker 1: file 1 is damaged",
            "worker 2: file 2 is damaged (more like this will not be shown)",
        ]
        assert output == [(str(number), f"out {number}") for number in range(5)]
