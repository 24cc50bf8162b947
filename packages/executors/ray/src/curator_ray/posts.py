"""Posts: where a worker leaves word of what it is at, so that its death or hang has a name.

A post is a folder of each node, outside of the worker: what stands there survives it.
"""

import faulthandler
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NoReturn

from curator_core import AnyTask
from curator_core.local.memory_kills import MemoryKills
from curator_core.local.shared_status import SharedStatus, StageStatus

from curator_ray.leftovers import remove_leftovers
from curator_ray.output import Output, files_from
from curator_ray.processes import ProcessIdentity

_BOARD_BYTES = 1 << 16
"""What a `Board` maps."""

_LINES_TOLD = 20

LEFT = "left with "
"""How the trace of a worker begins that went of its own accord."""


@dataclass(frozen=True)
class Post:
    """The files of one worker."""

    folder: str
    node_id: str
    worker_id: str

    @property
    def node_folder(self) -> Path:
        return Path(self.folder, self.node_id)

    @property
    def board(self) -> Path:
        return self.node_folder / f"{self.worker_id}.board"

    @property
    def trace(self) -> Path:
        return self.node_folder / f"{self.worker_id}.trace"

    @property
    def told(self) -> Path:
        """How much of what it printed it has told."""
        return self.node_folder / f"{self.worker_id}.told"

    @property
    def facts(self) -> Path:
        return self.node_folder / f"{self.worker_id}.json"


class Watchman:
    """Writes down each entry into a stage, and ends this process when one takes too long.

    The time is kept by a thread of the interpreter that needs no Python: a stage that hangs in C
    and never gives the interpreter back is ended too.
    """

    def __init__(self, post: Post) -> None:
        self._post = post
        if not os.path.exists(post.folder):  # else somebody has looked already
            remove_leftovers(os.path.dirname(post.folder))
        Path(post.folder).mkdir(mode=0o700, parents=True, exist_ok=True)
        post.node_folder.mkdir(mode=0o700, exist_ok=True)
        handle = os.open(post.board, os.O_RDWR | os.O_CREAT, 0o600)
        os.ftruncate(handle, _BOARD_BYTES)
        self._board = SharedStatus(handle)
        self._trace = open(post.trace, "w")  # noqa: SIM115 - open as long as the worker lives
        faulthandler.enable(self._trace)
        self._is_armed = False
        self._tell_of_exits()
        own = asdict(ProcessIdentity.own())
        self._output = Output(post.told)
        facts = {**own, "output": self._output.paths, "memory_kills": MemoryKills().seen}
        post.facts.write_text(json.dumps(facts))

    def begin(self, stage_index: int, tasks: Sequence[AnyTask], timeout_s: float | None) -> None:
        self._board.begin(stage_index, tasks, timeout_s)
        if timeout_s is not None:
            faulthandler.dump_traceback_later(timeout_s, file=self._trace, exit=True)
            self._is_armed = True

    def end(self) -> None:
        if self._is_armed:
            faulthandler.cancel_dump_traceback_later()
            self._is_armed = False
        self._board.end()

    def take_output(self, *, is_last: bool = False) -> str:
        """What was printed since the last time."""
        return self._output.take(is_last=is_last)

    def _tell_of_exits(self) -> None:
        """A stage that ends its process on purpose is not taken for one that was killed."""
        process, trace, really = os.getpid(), self._trace, os._exit

        def told_exit(status: int) -> NoReturn:
            if os.getpid() == process and not trace.closed:  # and not a child of it
                trace.write(f"{LEFT}os._exit({status})\n")
                trace.flush()
            really(status)

        os._exit = told_exit

    def leave(self) -> None:
        """The worker ends in order: there is nothing to tell."""
        faulthandler.disable()
        self._trace.close()
        self._board.close()
        self._output.close()
        for file in (self._post.board, self._post.trace, self._post.facts, self._post.told):
            file.unlink(missing_ok=True)


@dataclass(frozen=True)
class LastWords:
    """What a dead worker left behind."""

    note: StageStatus | None
    trace: str
    log: str
    ran_out_of_memory: bool
    output: str = ""
    """What it printed and had not told yet."""


def read(post: Post) -> LastWords | None:
    """Read a post on this machine; None where there is none."""
    try:
        handle = os.open(post.board, os.O_RDWR)
        facts: dict[str, Any] = json.loads(post.facts.read_text())
    except (OSError, ValueError):
        return None
    board = SharedStatus(handle)
    try:
        note = board.note()
    finally:
        board.close()
    paths = facts.get("output", [])
    return LastWords(
        note,
        _read_text(post.trace),
        _tail(paths[-1] if paths else ""),
        MemoryKills(facts["memory_kills"]).explain(facts["pid"]),
        files_from(paths, post.told).rest(),
    )


def request_stop(post: Post) -> bool:
    """Have the worker stop before its next entry into a stage; False where it has no post here."""
    try:
        handle = os.open(post.board, os.O_RDWR)
    except OSError:
        return False
    board = SharedStatus(handle)
    board.request_stop()
    board.close()
    return True


def _tail(file: str) -> str:
    return "\n".join(_read_text(Path(file)).splitlines()[-_LINES_TOLD:]) if file else ""


def _read_text(file: Path) -> str:
    try:
        return file.read_text(errors="replace")[-20_000:]
    except OSError:
        return ""
