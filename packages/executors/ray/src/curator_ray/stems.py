"""Stems: the process of a private cluster that its workers are forks of, from its owner's side."""

import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from curator_core.plans import Plan

from curator_ray import asking, forking

IS_POSSIBLE = sys.platform == "linux"

_NO_JOB = "ffffffff"
"""As Ray calls it: workers that are started before there is a job take the first that comes."""

_ONE_THREAD = {"OMP_NUM_THREADS": "1"}
"""As Ray does in its workers; libraries read it once, when they are imported."""

_SEVERAL = 2
_PATIENCE_S = 5.0


def worth_importing(plan: Plan, *more: str) -> tuple[str, ...]:
    """What all workers of a plan will import anyway, for Ray does so in each of them.

    Numerical libraries read with how many threads they are to work when they are imported: a plan
    that gives more than one to a stage has workers who import them when that is known.
    """
    if any(planned.resources.cpus >= _SEVERAL for planned in plan.stages):
        return ()
    return ("numpy", "pyarrow.json", *more)


class Stem:
    """Starts the process where Ray's own are started, so that it has what they have."""

    def __init__(self, folder: str, imports: Sequence[str] = ()) -> None:
        self._imports = imports
        self.place = os.path.join(folder, "forks")
        self._log = Path(folder, "forks.log")
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def environment(self) -> dict[str, str]:
        """What a raylet must be started with for its workers to be forks."""
        return {asking.PLACE: self.place}

    def start(self) -> None:
        flags = ["-s"] if sys.flags.no_user_site else []
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, *flags, forking.__file__, self.place, *self._imports],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                process_group=0,  # Ctrl-C is for the driver, which then ends its cluster
                env={**_ONE_THREAD, **os.environ, "RAY_JOB_ID": _NO_JOB},
            )

    def end(self) -> None:
        """Its forks notice; who does not is looked after by the guard of the cluster."""
        process, self._process = self._process, None
        if process is None or process.stdin is None:
            return
        process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            process.wait(_PATIENCE_S)
            return
        process.kill()
        process.wait()
