"""Stems: the process of a private cluster that its workers are forks of, from its owner's side."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from curator_core import AnyStage, Plan
from curator_core.model.functions import FunctionStage

from curator_ray import asking, forking

IS_POSSIBLE = sys.platform == "linux"
"""Elsewhere forks are not safe, or not to be had."""

_NO_JOB = {"RAY_JOB_ID": "ffffffff"}
"""As Ray calls it: workers that are started before there is a job take the first that comes."""

_ONE_THREAD = {"OMP_NUM_THREADS": "1"}
"""As Ray does in its workers; libraries read it once, when they are imported."""

_TOKENS = {"RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"}
_WITH_TOKEN = {"RAY_AUTH_MODE": "token"}
"""As Ray does where there is one, once it starts processes of its own."""

_AT_ONCE = {"RAY_enable_worker_prestart": "1", "RAY_prestart_worker_first_driver": "0"}
"""By itself Ray starts as many as there are CPUs when a driver connects, which waits for them."""

_SEVERAL = 2
_ARRAYS = ("numpy",)
_TABLES = ("pyarrow.json", "ray._common.pydantic_compat", "pydantic.v1.fields")
"""With tables come the others that Ray's pickler learns about."""


def worth_importing(plan: Plan, *, moves_tables: bool = False) -> tuple[str, ...]:
    """What all workers of a plan will import anyway: our own stages do, and who has done so here.

    Where tables are moved everybody does. Numerical libraries read with how many threads they are
    to work when they are imported: a plan that gives more than one to a stage has workers who
    import them when that is known.
    """
    if any(planned.resources.cpus >= _SEVERAL for planned in plan.stages):
        return ()
    if moves_tables or any(_is_ours(planned.stage) for planned in plan.stages):
        return _ARRAYS + _TABLES
    arrays = _ARRAYS if "numpy" in sys.modules else ()
    return arrays + _TABLES if "pyarrow" in sys.modules else arrays


def _is_ours(stage: AnyStage) -> bool:
    kind = type(stage)
    return kind.__module__.startswith("curator_") and kind is not FunctionStage


class Stem:
    """The process, once started: it begins with what takes longest while Ray's own come up."""

    def __init__(self, folder: str, imports: Sequence[str] = ()) -> None:
        self._imports = imports
        self.place = os.path.join(folder, "forks")
        self._log = Path(folder, "forks.log")
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def environment(self) -> dict[str, str]:
        """What a raylet must be started with for its workers to be forks.

        The first of them come up while the driver connects, instead of afterwards.
        """
        return {asking.PLACE: self.place, **{n: os.environ.get(n, v) for n, v in _AT_ONCE.items()}}

    @property
    def runs(self) -> bool:
        return self._process is not None

    def start(self) -> None:
        """With the environment that Ray's processes are given, where forks are safe."""
        if not IS_POSSIBLE:
            return
        token = _WITH_TOKEN if _TOKENS & os.environ.keys() else {}
        flags = ["-s"] if sys.flags.no_user_site else []
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, *flags, forking.__file__, self.place, *self._imports],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                process_group=0,  # Ctrl-C is for the driver, which then ends its cluster
                env={**_ONE_THREAD, **token, **os.environ, **_NO_JOB},
            )

    def end(self) -> None:
        """Its forks notice; who does not is looked after by the guard of the cluster."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            assert process.stdin is not None
            process.stdin.close()
