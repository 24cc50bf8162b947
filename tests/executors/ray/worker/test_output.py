"""What workers log and print reaches the driver."""

import json
import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from curator_ray.worker.output import LogCapture, LogLine, LogRelay

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="files of a process are in /proc")

_SCRIPT = """
import json, os, sys
from pathlib import Path
from curator_ray.worker.output import CapturedOutput, output_files

print("before")
mark = Path(sys.argv[1])
output = CapturedOutput(mark)
taken = []
def take(**options):
    taken.append(output.take(**options))
{steps}
rest = output_files(output.paths, mark).rest()
Path(sys.argv[2]).write_text(json.dumps([taken, rest]))
"""


def output_of(steps: str, folder: Path) -> tuple[list[str], str]:
    """Return what a process that runs these steps reports, and what it does not."""
    script = _SCRIPT.format(steps=steps)
    with (folder / "out").open("wb") as out, (folder / "err").open("wb") as err:
        command = [sys.executable, "-c", script, str(folder / "mark"), str(folder / "taken")]
        subprocess.run(command, stdout=out, stderr=err, check=True)
    taken, rest = json.loads((folder / "taken").read_text())
    return taken, rest


@pytest.mark.parametrize(
    ("steps", "taken", "rest"),
    [
        ("print('a'); os.system('echo b'); take(); take()", ["a\nb\n", ""], ""),
        ("print('a'); print('b', file=sys.stderr); take()", ["a\nb\n"], ""),
        ("print('a\\nb', end=''); take(); print('c'); take()", ["a\n", "bc\n"], ""),
        ("print('a', end=''); take(); take(is_last=True)", ["", "a"], ""),
        ("print('a'); take(); print('b', end=''); sys.stdout.flush()", ["a\n"], "b"),
        ("print(':job_id:01\\n:actor_name:X\\na'); take()", ["a\n"], ""),
        ("os.write(1, bytes([255, 10])); take()", ["\ufffd\n"], ""),
        ("os.truncate(output.paths[0], 0); os.lseek(1, 0, 0); print('a'); take()", ["a\n"], ""),
        ("sys.stdout = None; os.write(1, b'a\\n'); os.close(1); take()", ["a\n"], ""),
    ],
)
def test_output_is_taken_in_whole_lines(
    steps: str, taken: list[str], rest: str, tmp_path: Path
) -> None:
    assert output_of(steps, tmp_path) == (taken, rest)


def test_the_middle_of_very_large_output_is_left_out(tmp_path: Path) -> None:
    steps = "print('first'); print('x' * (20 << 20)); print('last'); take(); print('more'); take()"
    (large, more), _ = output_of(steps, tmp_path)
    assert large.startswith("first\nxx")
    assert large.endswith("xx\nlast\n")
    assert "bytes are left out]" in large
    assert len(large) < 9 << 20
    assert more == "more\n"


def test_output_that_is_not_in_files_is_not_taken(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _SCRIPT.format(steps="print('a'); take()")]
    done: Any = subprocess.run(
        [*command, str(tmp_path / "mark"), str(tmp_path / "taken")], capture_output=True, check=True
    )
    assert json.loads((tmp_path / "taken").read_text()) == [[""], ""]
    assert done.stdout == b"before\na\n"


class TestLogCapture:
    def test_warnings_are_kept_until_they_are_taken(self) -> None:
        capture = LogCapture()
        logger = logging.getLogger("test.capture")
        logger.addHandler(capture)
        logger.propagate = False
        logger.setLevel(logging.DEBUG)
        logger.info("all is well")
        logger.warning("file %s is damaged", "a.jsonl")
        assert capture.take() == (
            LogLine("test.capture", logging.WARNING, "file a.jsonl is damaged",
                 "file %s is damaged"),
        )  # fmt: skip
        assert capture.take() == ()

    def test_only_the_first_lines_of_many_are_kept(self) -> None:
        capture = LogCapture()
        for number in range(1000):
            capture.handle(
                logging.makeLogRecord({"levelno": 40, "name": "x", "msg": f"bad {number}"})
            )
        assert len(capture.take()) == 50


class TestLogRelay:
    def test_repeats_are_shown_three_times_for_all_workers_together(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        output: list[tuple[str, str]] = []
        relay = LogRelay(lambda worker, text: output.append((worker, text)))
        for number in range(5):
            line = LogLine(
                "stage", logging.WARNING, f"file {number} is damaged", "file %s is damaged"
            )
            relay.forward(str(number), [line], f"out {number}")
        assert [record.getMessage() for record in caplog.records] == [
            "worker 0: file 0 is damaged",
            "worker 1: file 1 is damaged",
            "worker 2: file 2 is damaged (more like this will not be shown)",
        ]
        assert output == [(str(number), f"out {number}") for number in range(5)]
