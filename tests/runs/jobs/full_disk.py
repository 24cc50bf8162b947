"""A disk that fills up, and is made larger: python full_disk.py FOLDER, in a mount name space.

Prints what each of the three runs did: on the small disk, there once more, on the larger one.
"""

import json
import subprocess
import sys
from pathlib import Path

JOB = Path(__file__).parent / "job.py"


def mount(options: str, out: Path) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(out)], check=True)


def run(folder: Path) -> dict[str, object]:
    command = [sys.executable, str(JOB), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    parts = {path.name: path.read_text() for path in (folder / "out").glob("part-*")}
    hidden = [path.name for path in (folder / "out").glob(".part-*")]
    return {"code": done.returncode, "said": done.stderr, "parts": parts, "hidden": hidden}


def main(folder: Path) -> None:
    out = folder / "out"
    out.mkdir()
    mount("size=268k", out)
    tries = [run(folder), run(folder)]
    mount("remount,size=64m", out)
    print(json.dumps([*tries, run(folder)]))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
