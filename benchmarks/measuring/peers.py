"""Peers: other people's packages, each in an environment of its own."""

import subprocess
import sys
import venv
from pathlib import Path

CACHE = Path(__file__).parents[1] / "cache"


class PeerMissingError(Exception):
    """A peer cannot be installed here, and why."""


def peer_python(name: str, *requirements: str) -> str:
    """The Python of an environment with these packages, made when it is first asked for."""
    folder = CACHE / name
    python = folder / "bin" / "python"
    ready = folder / "ready"
    if not (ready.is_file() and ready.read_text() == repr(requirements)):
        venv.create(folder, clear=True, with_pip=True)
        _install(str(python), requirements)
        ready.write_text(repr(requirements))
    return str(python)


def _install(python: str, requirements: tuple[str, ...]) -> None:
    # Isolated: what PYTHONPATH happens to hold must not pass for installed.
    command = [python, "-I", "-m", "pip", "install", "--quiet", *requirements]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["pip said nothing"])[-1]
        raise PeerMissingError(f"{' '.join(requirements)} cannot be installed here: {last}")


def clean_python(folder: Path) -> str:
    """The Python of a fresh environment with nothing but pip."""
    venv.create(folder, clear=True, with_pip=True)
    return str(folder / "bin" / "python")


def installed_bytes(python: str) -> int:
    """The size of all that is installed in an environment, pip and setuptools left out."""
    asked = [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    site = Path(subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip())
    own = ("pip", "setuptools", "_distutils_hack", "pkg_resources", "distutils-precedence")
    kept = (path for path in site.rglob("*") if not path.relative_to(site).parts[0].startswith(own))
    return sum(path.stat().st_size for path in kept if path.is_file() and not path.is_symlink())


def build_wheels(packages: list[Path], folder: Path) -> list[Path]:
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(folder)]
    subprocess.run([*command, *map(str, packages)], check=True)
    return sorted(folder.glob("*.whl"))
