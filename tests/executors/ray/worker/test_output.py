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
told = []
def tell(**how):
    told.append(output.take(**how))
{steps}
rest = output_files(output.paths, mark).rest()
Path(sys.argv[2]).write_text(json.dumps([told, rest]))
"""


def told_by(steps: str, folder: Path) -> tuple[list[str], str]:
    """What a process tells that does these steps, and what it leaves untold."""
    script = _SCRIPT.format(steps=steps)
    with (folder / "out").open("wb") as out, (folder / "err").open("wb") as err:
        command = [sys.executable, "-c", script, str(folder / "mark"), str(folder / "told")]
        subprocess.run(command, stdout=out, stderr=err, check=True)
    told, rest = json.loads((folder / "told").read_text())
    return told, rest


@pytest.mark.parametrize(
    ("steps", "told", "rest"),
    [
        ("print('a'); os.system('echo b'); tell(); tell()", ["a\nb\n", ""], ""),
        ("print('a'); print('b', file=sys.stderr); tell()", ["a\nb\n"], ""),
        ("print('a\\nb', end=''); tell(); print('c'); tell()", ["a\n", "bc\n"], ""),
        ("print('a', end=''); tell(); tell(is_last=True)", ["", "a"], ""),
        ("print('a'); tell(); print('b', end=''); sys.stdout.flush()", ["a\n"], "b"),
        ("print(':job_id:01\\n:actor_name:X\\na'); tell()", ["a\n"], ""),
        ("os.write(1, bytes([255, 10])); tell()", ["\ufffd\n"], ""),
        ("os.truncate(output.paths[0], 0); os.lseek(1, 0, 0); print('a'); tell()", ["a\n"], ""),
        ("sys.stdout = None; os.write(1, b'a\\n'); os.close(1); tell()", ["a\n"], ""),
    ],
)
def test_what_is_told(steps: str, told: list[str], rest: str, tmp_path: Path) -> None:
    assert told_by(steps, tmp_path) == (told, rest)


def test_of_very_much_at_once_the_beginning_and_the_end_are_told(tmp_path: Path) -> None:
    steps = "print('first'); print('x' * (20 << 20)); print('last'); tell(); print('more'); tell()"
    (much, more), _ = told_by(steps, tmp_path)
    assert much.startswith("first\nxx")
    assert much.endswith("xx\nlast\n")
    assert "bytes are left out]" in much
    assert len(much) < 9 << 20
    assert more == "more\n"


def test_where_nothing_goes_to_files_nothing_is_told(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _SCRIPT.format(steps="print('a'); tell()")]
    done: Any = subprocess.run(
        [*command, str(tmp_path / "mark"), str(tmp_path / "told")], capture_output=True, check=True
    )
    assert json.loads((tmp_path / "told").read_text()) == [[""], ""]
    assert done.stdout == b"before\na\n"


class TestCatcher:
    def test_keeps_what_matters_until_it_is_taken(self) -> None:
        catcher = LogCapture()
        logger = logging.getLogger("test.catcher")
        logger.addHandler(catcher)
        logger.propagate = False
        logger.setLevel(logging.DEBUG)
        logger.info("all is well")
        logger.warning("file %s is damaged", "a.jsonl")
        assert catcher.take() == (
            LogLine("test.catcher", logging.WARNING, "file a.jsonl is damaged",
                 "file %s is damaged"),
        )  # fmt: skip
        assert catcher.take() == ()

    def test_a_flood_is_cut(self) -> None:
        catcher = LogCapture()
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
