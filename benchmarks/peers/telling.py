"""What a job tells of its run, as one line of JSON: moments count from when it was asked for."""

import json
import sys
import time
from collections.abc import Iterable
from typing import Any

from works import Payload, Work, work_of


class Account:
    """Read from the command line: WORK SETTINGS BEGUN. The first two are JSON."""

    def __init__(self) -> None:
        work, settings, begun = sys.argv[1:4]
        self.work: Work = work_of(json.loads(work))
        self.settings: dict[str, Any] = json.loads(settings)
        self._begun = float(begun)
        self._moments: dict[str, float] = {}
        self.outputs: list[Payload] = []

    def note(self, what: str) -> None:
        """That something has happened just now, for the first time."""
        self._moments.setdefault(what, time.time() - self._begun)

    def take(self, outputs: Iterable[Payload]) -> None:
        """Outputs that have come into the hands of the driver."""
        for output in outputs:
            self.note("first_in_hand")
            self.outputs.append(output)

    def tell(self, **more: Any) -> None:
        self.note("in_hand")
        outputs = list(self.outputs)
        slow = [output["slow_since"] for output in outputs if "slow_since" in output]
        facts: dict[str, Any] = {
            "tasks": self.work.tasks,
            "outputs": len(outputs),
            "distinct": len({output["id"] for output in outputs}),
            "ends": sorted(round(output["end"] - self._begun, 6) for output in outputs),
            "slow_since": min(slow) - self._begun if slow else None,
            **self._moments,
            **more,
        }
        print("\n" + json.dumps(facts), flush=True)
