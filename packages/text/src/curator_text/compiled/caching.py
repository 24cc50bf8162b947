"""Caching: where compiled kernels are kept, for the processes that come after."""

import hashlib
import os
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path


@cache
def kernel_folder() -> Path:
    """A folder of this user's for the kernels of exactly this source."""
    name = f"curator-text-{_source_hash()}"
    for place in _places():
        folder = place / name
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if _is_ours(folder):
                return folder
        except OSError:
            continue
    return Path(tempfile.mkdtemp(prefix=f"{name}-"))


def _places() -> Iterator[Path]:
    for variable in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
        if os.environ.get(variable):
            yield Path(os.environ[variable])
    with suppress(RuntimeError):  # a user without a home
        if Path.home().is_dir():
            yield Path.home() / ".cache"
    yield Path(tempfile.gettempdir()) / f"curator-text-of-{_user()}"


def _user() -> int:
    return os.getuid() if hasattr(os, "getuid") else 0


def _is_ours(folder: Path) -> bool:
    """Kernels are code: nobody else may put them there, nor another folder in its place."""
    folder = folder.resolve()
    if not os.access(folder, os.W_OK | os.X_OK):
        return False
    if not hasattr(os, "getuid"):
        return True
    facts = folder.stat()
    is_own = facts.st_uid == os.getuid() and not facts.st_mode & 0o022
    return is_own and all(map(_is_kept_by_owner, folder.parents))


def _is_kept_by_owner(folder: Path) -> bool:
    """Whether only this user, or root, can replace what is in a folder of theirs."""
    facts = folder.stat()
    is_open = facts.st_mode & stat.S_IWOTH and not facts.st_mode & stat.S_ISVTX
    return facts.st_uid in (0, os.getuid()) and not is_open


def _source_hash() -> str:
    """A kernel holds what it calls as it was: a change in any module makes all of them new."""
    here = Path(__file__).parent
    digest = hashlib.sha256()
    for path in sorted(here.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def is_empty() -> bool:
    """Whether no kernel was ever compiled here."""
    return next(kernel_folder().rglob("*.nbi"), None) is None


def mark_of(rules: Iterable[str]) -> Path:
    """A file that is there once the kernels of these rules have been compiled by this numba."""
    names = ",".join(sorted(set(rules)))
    digest = hashlib.sha256(f"{version('numba')} {names}".encode())
    return kernel_folder() / f"compiled-{digest.hexdigest()[:16]}"


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Processes that start together compile once: the others wait, and load what the first made."""
    try:
        import fcntl
    except ImportError:  # Windows: each of them may compile
        yield
        return
    with open(kernel_folder() / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
