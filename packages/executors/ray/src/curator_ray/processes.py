"""Processes that are known by more than their number: the system gives a number out again."""

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class ProcessIdentity:
    """A process of this machine, and when it began, in the system's own ticks."""

    pid: int
    born: str
    """Empty where the system does not show it (elsewhere than on Linux)."""

    @classmethod
    def own(cls) -> "ProcessIdentity":
        return cls(os.getpid(), _state_and_birth(os.getpid())[1])

    def runs(self) -> bool:
        """Whether it lives; one that has ended waits for its parent to ask how."""
        state, born = _state_and_birth(self.pid)
        if state or os.path.isdir("/proc/self"):
            return bool(state) and state not in "ZX" and born == self.born
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:  # somebody else's
            return True
        return True


def _state_and_birth(pid: int) -> tuple[str, str]:
    try:
        told = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return "", ""
    fields = told.rpartition(")")[2].split()  # before it stands a name, which may hold anything
    return fields[0], fields[19]
