"""A package that `curate init --plugin` writes: it installs, is listed, and passes its tests."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]

pytestmark = [pytest.mark.wheels, pytest.mark.timeout(600)]


def run(*command: str | Path, cwd: Path | None = None) -> str:
    words = [str(part) for part in command]
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_a_package_of_ones_own(tmp_path: Path) -> None:
    environment, package = tmp_path / "environment", tmp_path / "curator-shout"
    run(sys.executable, "-m", "venv", environment)
    pip = (environment / "bin" / "python", "-m", "pip", "install", "--quiet")
    run(*pip, *(REPOSITORY / "packages" / name for name in ("core", "report", "cli")))
    curate = environment / "bin" / "curate"
    run(curate, "init", "--plugin", "shout", package)

    run(*pip, f"{package}[test]")

    listed = run(curate, "plugins")
    assert re.search(r"^curator-shout 0\.1\.0\n +stages +shout\.upper$", listed, re.MULTILINE)
    explained = run(curate, "stages", "shout.upper")
    assert "The column that holds the text." in explained
    assert "3 passed" in run(environment / "bin" / "pytest", "-q", cwd=package)
