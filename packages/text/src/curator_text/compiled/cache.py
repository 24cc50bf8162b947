"""Compile kernels with numba, and keep the compiled code on disk for later processes."""

import hashlib
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path


@cache
def kernel_folder() -> Path | None:
    """Return this user's folder for kernels of exactly this source; None if none is writable."""
    name = f"curator-text-{_hash_source()}"
    for parent in _candidates():
        folder = parent / name
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if _is_safe(folder):
                return folder
        except OSError:
            continue
    return None


def _candidates() -> Iterator[Path]:
    for variable in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
        if os.environ.get(variable):
            yield Path(os.environ[variable])
    with suppress(RuntimeError):  # the user may have no home folder
        if Path.home().is_dir():
            yield Path.home() / ".cache"
    yield Path(tempfile.gettempdir()) / f"curator-text-of-{_user()}"


def _user() -> int:
    return os.getuid() if hasattr(os, "getuid") else 0


def _is_safe(folder: Path) -> bool:
    """Whether only this user can change the folder: others could plant code there."""
    folder = folder.resolve()
    if not os.access(folder, os.W_OK | os.X_OK):
        return False
    if not hasattr(os, "getuid"):
        return True
    facts = folder.stat()
    is_own = facts.st_uid == os.getuid() and not facts.st_mode & 0o022
    return is_own and all(map(_is_protected, folder.parents))


def _is_protected(folder: Path) -> bool:
    """Whether only this user or root can replace entries of a folder."""
    facts = folder.stat()
    is_open = facts.st_mode & stat.S_IWOTH and not facts.st_mode & stat.S_ISVTX
    return facts.st_uid in (0, os.getuid()) and not is_open


def _hash_source() -> str:
    """Hash all modules: kernels include the code they call, so any change invalidates them all."""
    here = Path(__file__).parent
    digest = hashlib.sha256()
    for path in sorted(here.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def mark_of(kernel_name: str, folder: Path) -> Path:
    """Return the file that exists once this numba has compiled what this rule kernel needs."""
    return folder / f"{kernel_name}-numba-{version('numba')}"


@contextmanager
def compile_lock(folder: Path) -> Iterator[None]:
    """Let only one process compile at a time; the others wait, then load its result."""
    try:
        import fcntl
    except ImportError:  # on Windows, each process may compile
        yield
        return
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
