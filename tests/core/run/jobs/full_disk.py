"""A disk that is full: python full_disk.py FOLDER, in a mount name space.

Prints what each of three runs did: on a full disk, on one that is filled in the middle of the run,
and with room again.
"""

import json
import subprocess
import sys
from pathlib import Path

from job import fill_disk

JOB = Path(__file__).parent / "job.py"


def run(folder: Path, *arguments: str) -> dict[str, object]:
    command = [sys.executable, str(JOB), str(folder), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    parts = {path.name: path.read_text() for path in (folder / "out").glob("part-*")}
    hidden = [path.name for path in (folder / "out").glob(".part-*")]
    return {"code": done.returncode, "stderr": done.stderr, "parts": parts, "hidden": hidden}


def main(folder: Path) -> None:
    out = folder / "out"
    out.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(out)]
    subprocess.run(mount, check=True)
    filler = fill_disk(out)
    before = run(folder, "--nasty", "filling")
    filler.unlink()
    during = run(folder, "--nasty", "filling")
    filler.unlink()
    print(json.dumps([before, during, run(folder, "--nasty", "filling")]))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
