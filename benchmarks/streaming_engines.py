"""The engines that are measured: ours and its peers, and what it took to make each of them run."""

import json
import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from measuring.cluster_jobs import run_cluster_job
from measuring.peers import PeerMissingError, peer_python
from measuring.rates import steady_rate
from measuring.timing import JobFailedError, Outcome

PEERS = Path(__file__).parent / "peers"
RAY = "2.60.0"
CORES = os.cpu_count() or 1

NOTES = {
    "Xenna": (
        "cosmos-xenna 0.3.0. cpu_allocation_percentage=1.0: by default (.95) it takes 2 cores for "
        "1. "
        "tqdm installed beside it, which it imports but does not ask for. RAY_ADDRESS set to its "
        "own cluster, else it stops where another Ray runs. Autoscaling as it comes (every 180 s), "
        "and where a row says so every 5 or 10 s"
    ),
    "Ray Data": (
        f"ray[data] {RAY}. Stages are tasks without state, which it fuses (actors were slower). A "
        "task per block where a row says so, else 200 blocks, which is its default. No dashboard, "
        "no progress bars"
    ),
    "ours": "cpu_allocation_percentage=1.0, like Xenna; everything else as it comes",
}


def _curator() -> str:
    return sys.executable


def _xenna() -> str:
    return peer_python("xenna", "cosmos-xenna==0.3.0", f"ray[default]=={RAY}", "numpy", "tqdm")


def _ray_data() -> str:
    return peer_python("ray_data", f"ray[data]=={RAY}")


@dataclass(frozen=True)
class Engine:
    """Something that does the work, with settings of its own."""

    name: str
    script: str
    python: Callable[[], str]
    settings: Mapping[str, Any] = field(default_factory=dict)

    def run(self, case: str, tasks: int, *, watch_memory: bool = False, **more: Any) -> "Run":
        work = json.dumps({"case": case, "tasks": tasks, **more})
        settings = json.dumps(dict(self.settings))
        script, python = PEERS / self.script, self.python()
        outcome = run_cluster_job(script, work, settings, python=python, watch_memory=watch_memory)
        return Run(outcome)


def ours(name: str = "ours", **settings: Any) -> Engine:
    return Engine(name, "with_curator.py", _curator, settings)


def xenna(name: str = "Xenna", **settings: Any) -> Engine:
    return Engine(name, "with_xenna.py", _xenna, settings)


def ray_data(name: str = "Ray Data", **settings: Any) -> Engine:
    return Engine(name, "with_ray_data.py", _ray_data, settings)


BARE_RAY = Engine("bare Ray", "bare_ray.py", _curator)


@dataclass(frozen=True)
class Run:
    """What one run told of itself. Seconds count from when the process was asked for."""

    outcome: Outcome

    @property
    def facts(self) -> dict[str, Any]:
        return self.outcome.facts

    @property
    def steady(self) -> float:
        return steady_rate(self.facts["ends"])

    @property
    def overall(self) -> float:
        """Tasks per second from the moment the cluster is up until all outputs are in hand."""
        return float(self.facts["outputs"] / (self.in_hand - self.facts["cluster_up"]))

    @property
    def first(self) -> float:
        """From a started cluster until the last step is done with the first task."""
        return float(self.facts["ends"][0] - self.facts["cluster_up"])

    @property
    def first_in_hand(self) -> float:
        """From a started cluster until the driver has the first output."""
        return float(self.facts["first_in_hand"] - self.facts["cluster_up"])

    @property
    def in_hand(self) -> float:
        return float(self.facts["in_hand"])

    @property
    def seconds(self) -> float:
        """Until the process had ended."""
        return self.outcome.seconds

    @property
    def cpu_s(self) -> float:
        return self.outcome.cpu_s

    @property
    def is_whole(self) -> bool:
        """Whether every task came out, and came out once."""
        return bool(self.facts["outputs"] == self.facts["distinct"] == self.facts["tasks"])


def _cause(said: str) -> str:
    """The error that a traceback ends with, among all else that an engine says."""
    causes = [line for line in said.splitlines() if re.match(r"[\w.]+(Error|Exception)\b", line)]
    return causes[-1][:200] if causes else ""


class Contest:
    """Several engines at the same work, in turns. One that cannot do it is left out of the rest."""

    def __init__(self) -> None:
        self.runs: dict[str, list[Run]] = {}
        self.failures: dict[str, str] = {}

    def take(self, name: str, job: Callable[[], Run]) -> None:
        if name in self.failures:
            return
        try:
            run = job()
        except (JobFailedError, PeerMissingError) as error:
            said = getattr(error, "said", "")
            print(f"{name}: {error}\n{said[-3000:]}", file=sys.stderr)
            self.failures[name] = _cause(said) or str(error)
            self.runs.pop(name, None)
            return
        self.runs.setdefault(name, []).append(run)

    def median_of(self, name: str, measure: str) -> float | None:
        """None where the engine could not do the work."""
        taken = [float(getattr(run, measure)) for run in self.runs.get(name, [])]
        return median(taken) if taken else None

    def all_of(self, measure: str) -> dict[str, Any]:
        """For the file of results: each round of each engine, and why some are not there."""
        told: dict[str, Any] = {
            name: [round(float(getattr(run, measure)), 4) for run in runs]
            for name, runs in self.runs.items()
        }
        return {**told, **({"failed": dict(self.failures)} if self.failures else {})}

    def is_whole(self, name: str) -> bool:
        return all(run.is_whole for run in self.runs.get(name, []))


def contest(rounds: int, jobs: Mapping[str, Callable[[], Run]]) -> Contest:
    """A B A B …, so that a slow minute hits all of them."""
    held = Contest()
    for _ in range(rounds):
        for name, job in jobs.items():
            held.take(name, job)
    return held
