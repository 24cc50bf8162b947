"""Caching: keep compiled kernels for later processes."""

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
    """Return this user's folder for the kernels compiled from exactly this source."""
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
    with suppress(RuntimeError):  # the user may have no home folder
        if Path.home().is_dir():
            yield Path.home() / ".cache"
    yield Path(tempfile.gettempdir()) / f"curator-text-of-{_user()}"


def _user() -> int:
    return os.getuid() if hasattr(os, "getuid") else 0


def _is_ours(folder: Path) -> bool:
    """Whether only this user can change the folder: others could plant code there."""
    folder = folder.resolve()
    if not os.access(folder, os.W_OK | os.X_OK):
        return False
    if not hasattr(os, "getuid"):
        return True
    facts = folder.stat()
    is_own = facts.st_uid == os.getuid() and not facts.st_mode & 0o022
    return is_own and all(map(_is_kept_by_owner, folder.parents))


def _is_kept_by_owner(folder: Path) -> bool:
    """Whether only this user or root can replace entries of a folder."""
    facts = folder.stat()
    is_open = facts.st_mode & stat.S_IWOTH and not facts.st_mode & stat.S_ISVTX
    return facts.st_uid in (0, os.getuid()) and not is_open


def _source_hash() -> str:
    """Hash all modules: kernels include the code they call, so any change invalidates them all."""
    here = Path(__file__).parent
    digest = hashlib.sha256()
    for path in sorted(here.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def is_empty() -> bool:
    """Whether no kernel has been compiled here yet."""
    return next(kernel_folder().rglob("*.nbi"), None) is None


def mark_of(rules: Iterable[str]) -> Path:
    """Return a marker file that exists once this numba has compiled these rules' kernels."""
    names = ",".join(sorted(set(rules)))
    digest = hashlib.sha256(f"{version('numba')} {names}".encode())
    return kernel_folder() / f"compiled-{digest.hexdigest()[:16]}"


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Let only one process compile at a time; the others wait, then load its result."""
    try:
        import fcntl
    except ImportError:  # on Windows, each process may compile
        yield
        return
    with open(kernel_folder() / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
