"""Measures what pip installs with each package: `hatch run bench:sizes [PACKAGE …]`.

Wheels are built from this repository and installed into clean environments, without extras. What
they depend on comes from the package index that pip is set up with.
"""

import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from measuring.figures import Figure
from measuring.peers import CACHE, build_wheels, clean_python, installed_bytes
from measuring.rows import Row, run_rows

PACKAGES = Path(__file__).parents[1] / "packages"
MOST_MB = {"core": 250, "report": 250, "cli": 250, "models": 250, "dedup": 300, "text": 300,
           "image": 350, "video": 450, "audio": 450}  # fmt: skip
MB = 1_000_000
HEAVY = {"ray", "torch", "torchaudio", "pandas", "transformers"}


@dataclass(frozen=True)
class Sizes:
    """There is nothing to choose: a package is installed once."""


def installed(package: str, sizes: Sizes) -> Iterator[Figure]:
    most = MOST_MB[package]
    CACHE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as place:
        try:
            wheels = build_wheels([PACKAGES / name for name in _needed(package)], Path(place) / "w")
            python = clean_python(Path(place) / "environment")
            _pip(python, "install", "--quiet", *map(str, wheels))
        except subprocess.CalledProcessError as error:
            yield Figure(f"curator-{package}", f"<= {most} MB", f"pip failed: {error}", None)
            return
        listed = _pip(python, "list", "--format", "freeze")
        size = installed_bytes(python)
    names = {line.partition("==")[0].lower() for line in listed.split()}
    heavy = sorted(names & HEAVY)
    value = f"{size / MB:.0f} MB" + (f", with {', '.join(heavy)}" if heavy else "")
    yield Figure(
        f"curator-{package} and all that it needs",
        f"<= {most} MB, no {', '.join(sorted(HEAVY))}",
        value,
        size <= most * MB and not heavy,
        {"bytes": size, "distributions": sorted(names)},
    )


def _pip(python: str, *words: str) -> str:
    command = [python, "-I", "-m", "pip", *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def _needed(package: str) -> list[str]:
    """The folders of a package and of those of ours that it depends on."""
    project = tomllib.loads((PACKAGES / package / "pyproject.toml").read_text())["project"]
    ours = [
        line.removeprefix("curator-").partition(">")[0]
        for line in project["dependencies"]
        if line.startswith("curator-")
    ]
    return sorted({package, *(needed for name in ours for needed in _needed(name))})


ROWS: dict[str, Row[Sizes]] = {name: partial(installed, name) for name in MOST_MB}

if __name__ == "__main__":
    sys.exit(run_rows("sizes", __doc__, ROWS, Sizes(), Sizes()))
