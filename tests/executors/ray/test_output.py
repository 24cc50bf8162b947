"""What a worker prints is told in whole lines, and what it had still to tell when it died."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="files of a process are in /proc")

_SCRIPT = """
import json, os, sys
from pathlib import Path
from curator_ray.output import Output, files_from

print("before")
mark = Path(sys.argv[1])
output = Output(mark)
told = []
def tell(**how):
    told.append(output.take(**how))
{steps}
rest = files_from(output.paths, mark).rest()
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
