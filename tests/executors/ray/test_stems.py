"""Workers of a private cluster are forks of one process, and start without it where they must."""

import json
import os
import sys
from types import ModuleType
from typing import Any

import pytest
from curator_core import JsonlWriter, Pipeline, ProcessingStage, Task, processing_stage
from curator_core.model.resources import Resources
from curator_ray import asking
from curator_ray.stems import IS_POSSIBLE, worth_importing

pytestmark = pytest.mark.skipif(not IS_POSSIBLE, reason="only Linux forks processes well")

DRIVER = """
import gc, json, os, signal, sys, time
import psutil
from curator_ray.connecting import connected
from curator_ray.starting import PrivateCluster

class Worker:
    def parent(self):
        return os.getppid()

    def looks(self):
        import random
        own = psutil.Process()
        return {
            "parent": own.ppid(),
            "leads": os.getpgid(0) == own.pid,
            "imported": "wave" in sys.modules,
            "variable": os.environ.get("FLAVOUR"),
            "oom": int(open("/proc/self/oom_score_adj").read()),
            "nice": own.nice(),
            "random": random.random(),
            "folder": os.getcwd(),
            "collects": gc.isenabled(),
        }

def script_of(process):
    told = [part for part in psutil.Process(process).cmdline() if part.endswith(".py")]
    return os.path.basename(told[0]) if told else psutil.Process(process).name()

with connected(private=PrivateCluster(cpus=2, imports=("wave", "no_such_module"))) as connection:
    import ray
    actor = ray.remote(num_cpus=0)(Worker)
    forks = ray.get([w.looks.remote() for w in [actor.remote() for _ in range(3)]])
    scripts = sorted({script_of(fork["parent"]) for fork in forks})
    flavoured = actor.options(runtime_env={"env_vars": {"FLAVOUR": "plum"}}).remote()
    special = ray.get(flavoured.looks.remote())
    special["parent"] = script_of(special["parent"])
    os.kill(forks[0]["parent"], signal.SIGKILL)
    late = script_of(ray.get(actor.remote().parent.remote(), timeout=60))
    print(json.dumps([forks, scripts, special, late]))
"""


class TestStem:
    def test_workers_are_forks_where_they_can_be(self, script: Any, marked: Any) -> None:
        said, _ = script(DRIVER, **marked.variable("stem")).communicate(timeout=90)
        forks, scripts, special, late = json.loads(said)
        assert scripts == ["forking.py"]
        for fork in forks:
            assert fork["leads"]  # its own group, which the raylet ends with it
            assert fork["imported"]
            assert fork["collects"]
            assert (fork["oom"], fork["nice"]) == (special["oom"], special["nice"])
            assert fork["folder"] == special["folder"]
        assert len({fork["random"] for fork in forks}) == 3
        assert (special["parent"], special["variable"]) == ("raylet", "plum")
        assert not special["imported"]
        assert late == "raylet"
        assert not marked("stem")


ALIKE = """
import os
import psutil
from curator_ray.connecting import connected
from curator_ray.starting import PrivateCluster

with connected(private=PrivateCluster(cpus=2, imports=("ray.data",))):
    import ray
    parent = ray.remote(num_cpus=0)(lambda: os.getppid())
    print(psutil.Process(ray.get(parent.remote(), timeout=60)).name())
"""


def test_no_worker_is_a_fork_where_forks_would_draw_the_same_ids(script: Any) -> None:
    pytest.importorskip("ray.data")  # whose import draws one
    said, complaints = script(ALIKE).communicate(timeout=90)
    assert (said.strip(), complaints) == ("raylet", "")


class Crunch(ProcessingStage[Task[Any], Task[Any]]):
    """Would be no faster with two CPUs if numpy had been imported for one."""

    def process(self, task: Task[Any]) -> Task[Any]:
        return task


class TestWorthImporting:
    """What all workers will need is imported once, and nothing that perhaps none does."""

    @pytest.fixture(autouse=True)
    def _only_numpy(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "numpy", ModuleType("numpy"))
        monkeypatch.delitem(sys.modules, "pyarrow", raising=False)

    @pytest.mark.parametrize(("cpus", "imports"), [(0.5, ("numpy",)), (2, ())])
    def test_libraries_know_how_many_threads_they_have(
        self, cpus: float, imports: tuple[str, ...]
    ) -> None:
        assert imported_for(Crunch().with_(resources=Resources(cpus=cpus))) == imports

    def test_a_function_is_a_stage_of_whoever_wrote_it(self) -> None:
        assert imported_for(processing_stage(name="same")(lambda task: task)) == ("numpy",)

    def test_our_own_stages_read_and_write_tables(self) -> None:
        assert imported_for(Crunch(), JsonlWriter("out"))[:2] == ("numpy", "pyarrow.json")

    def test_where_tables_are_moved_all_workers_need_them(self) -> None:
        assert imported_for(Crunch(), moves_tables=True)[:2] == ("numpy", "pyarrow.json")

    def test_with_tables_comes_what_ray_imports_beside_them(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert "pyarrow.json" not in imported_for(Crunch())
        monkeypatch.setitem(sys.modules, "pyarrow", ModuleType("pyarrow"))
        assert {"pyarrow.json", "pydantic.v1.fields"} < set(imported_for(Crunch()))


def imported_for(*stages: Any, moves_tables: bool = False) -> tuple[str, ...]:
    plan = Pipeline("x", stages=stages).build(tasks=[Task(1)])
    return worth_importing(plan, moves_tables=moves_tables)


class TestAsking:
    """What the raylet starts becomes what Ray would have started, unless a fork takes over."""

    @pytest.fixture
    def started(self, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
        commands: list[list[str]] = []
        monkeypatch.setattr(os, "execv", lambda _, command: commands.append(command))
        return commands

    @pytest.mark.parametrize("place", [None, "nobody-listens"])
    def test_nobody_to_ask(
        self, started: list[list[str]], monkeypatch: pytest.MonkeyPatch, place: str | None
    ) -> None:
        monkeypatch.delenv(asking.PLACE, raising=False)
        if place is not None:
            monkeypatch.setenv(asking.PLACE, place)
        arguments = ["worker.py", "--node-id=1", "--language=PYTHON"]
        asking.main(arguments)
        ((python, script, *rest),) = started
        assert python == sys.executable
        assert os.path.isfile(script)
        assert os.path.basename(script) == "setup_worker.py"
        assert rest == arguments

    @pytest.mark.parametrize(
        "special", [["--language=JAVA"], ["--language=PYTHON", asking._OF_ITS_OWN + "{}"], []]
    )
    def test_others_than_plain_workers(self, started: list[list[str]], special: list[str]) -> None:
        asking.main(["worker.py", *special])
        assert started[0][2:] == ["worker.py", *special]


EARLY = """
import sys
from curator_core import Pipeline, ProcessingStage, Task
from curator_ray.stems import Stem
from curator_streaming.executor import StreamingExecutor

class Same(ProcessingStage):
    def process(self, task):
        return task

def started(stem, start=Stem.start):
    print("ray" in sys.modules)
    start(stem)

Stem.start = started
Pipeline("x", stages=[Same()]).run(StreamingExecutor(), [Task(1)])
"""


def test_the_stem_has_begun_before_the_driver_imports_ray(script: Any) -> None:
    said, _ = script(EARLY).communicate(timeout=90)
    assert said == "False\n"
