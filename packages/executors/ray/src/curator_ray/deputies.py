"""Deputies: what drives a run on the cluster itself, where nothing but Ray's client leads there.

The client carries no streams of results, and Ray Data does not work through it. So a process there
drives, as one on any machine of the cluster would, and the run stays with its user.
"""

import logging
import threading
import time

from curator_core.errors import reason_of

from curator_ray.distance import BrokenOffError, DistantRun
from curator_ray.errors import ClusterError
from curator_ray.letters import Errand, Word, opened, packed
from curator_ray.travelling import extend_search_path

LONG_POLL_S = 0.25
_LOST_AFTER_S = 20.0
"""A run that says nothing for so long has lost its user, or its way here."""

_NOT_OURS = ("ray", "asyncio", "grpc")


class Deputy:
    """An actor that drives one run. `exchange` is called over and over, until it says `ended`."""

    def __init__(self, errand: bytes, search_path: list[str], level: int) -> None:
        extend_search_path(search_path)
        self._errand = errand
        self._run = DistantRun()
        self._heard_at = time.monotonic()
        self._is_lost = False
        _Teller(self._run).install(level)
        for work in (self._work, self._watch):
            threading.Thread(target=work, name="curator-deputy", daemon=True).start()

    def exchange(self, raw: bytes) -> tuple[int, bytes]:
        """Heed a word; how many sources are wanted, and what there is to tell."""
        wanted = self.heed(raw)
        notes = self._run.taken(LONG_POLL_S)
        letter = packed(notes)
        self._run.learn_size(notes, len(letter))
        return wanted, letter

    def heed(self, raw: bytes) -> int:
        """The same without listening: the run has its hands full."""
        self._heard_at = time.monotonic()
        word: Word = opened(raw)
        return self._run.heed(word)

    def _work(self) -> None:
        failure: BaseException | None = None
        try:
            self._run_errand()
        except BrokenOffError:
            pass
        except BaseException as error:  # noqa: BLE001 - it is raised where the user sees it
            failure = error
        if self._is_lost:
            failure = ClusterError(
                f"nothing was heard of the run for {_LOST_AFTER_S:g} s, so what drove it on the "
                "cluster has ended; what is finished is kept, and the same command does the rest"
            )
        self._run.note("end", _portable(failure), self._run.result.notes)

    def _run_errand(self) -> None:
        try:
            errand: Errand = opened(self._errand)
        except ImportError as error:
            raise lacks(error) from error
        self._run.begin(errand)
        for output in errand.drive(errand.plan, self._run):
            self._run.hand_on(output)

    def _watch(self) -> None:
        """Ray ends this process when its user is gone, but workers are to tear down before that."""
        while time.monotonic() - self._heard_at < _LOST_AFTER_S:
            time.sleep(1)
        self._is_lost = True
        self._run.heed(Word(breaks_off=True))


def lacks(error: ImportError) -> ClusterError:
    return ClusterError(
        f"the head of the cluster lacks what is to run there ({reason_of(error)}); install the "
        "same packages on every node"
    )


class _Teller(logging.Handler):
    """Passes on what is logged here to the loggers of the user's process."""

    def __init__(self, run: DistantRun) -> None:
        super().__init__()
        self._run = run

    def install(self, level: int) -> None:
        logging.getLogger("curator_core").setLevel(level)
        logging.getLogger().addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        if not record.name.startswith(_NOT_OURS):
            self._run.note("log", record.name, record.levelno, record.getMessage())


def _portable(error: BaseException | None) -> BaseException | None:
    """The error, or what can be said of it where it does not travel."""
    try:
        opened(packed(error))
    except Exception:  # noqa: BLE001 - anything may be wrong with a stranger's error
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
