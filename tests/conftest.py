"""Settings of the tests that cannot stand in pytest.ini."""

import importlib.util
import json
import os
import signal
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import packaging.version  # noqa: F401 - before the folder `packaging` here takes its name
import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "kits"))

signal.signal(signal.SIGINT, signal.default_int_handler)
"""A shell ignores it for what runs in the background, and Ctrl-C is among what is tested."""

os.environ.setdefault("CURATOR_EXECUTOR", "local")
"""Where streaming is installed it is the default, and each of these runs would start a cluster."""

IS_WHOLE_RUN = "PYTEST_XDIST_WORKER" in os.environ

if IS_WHOLE_RUN:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    """Processes that share the cores gain nothing by threads in each of them."""

if importlib.util.find_spec("hypothesis"):  # wheels are tested where it is not installed
    from hypothesis import HealthCheck, settings

    # A busy machine is no reason to fail; pytest-timeout ends what hangs.
    settings.register_profile(
        "patient", deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )
    # Where minutes are all there is, each run tries other examples, and fewer.
    settings.register_profile("brief", settings.get_profile("patient"), max_examples=30)
    settings.load_profile("brief" if IS_WHOLE_RUN or os.environ.get("CI") else "patient")


_STARTING_RAY = {"one_ray", "plain_cluster", "script", "start"}
"""The fixtures below `executors` by which a Ray comes up, in this process or another."""


def group_of(item: pytest.Item) -> str:
    """What goes to one process: a file's tests; those that start Ray are two groups, and long.

    A group keeps one Ray after the other. Tests of executors that start none need not wait for it.
    """
    parts = item.path.relative_to(HERE).parts
    if parts[0] == "executors" and _STARTING_RAY.intersection(getattr(item, "fixturenames", ())):
        return "streaming" if parts[1] == "streaming" else "executors"
    return "/".join(parts)


LONGEST = ("executors", "streaming", "docs/", "core/run/", "dedup/", "text/compiled/", "examples/")
"""Groups, and folders of them, that begin first: no process is left with one of them at the end."""


def in_order(items: list[pytest.Item]) -> list[pytest.Item]:
    """The longest groups first, then those of the most tests."""
    groups = [group_of(item) for item in items]
    counts = Counter(groups)

    def place(group: str) -> tuple[int, int]:
        ranks = (rank for rank, name in enumerate(LONGEST)
                 if group == name or (name[-1] == "/" and group.startswith(name)))  # fmt: skip
        return next(ranks, len(LONGEST)), -counts[group]

    order = sorted(range(len(items)), key=lambda number: place(groups[number]))
    return [items[number] for number in order]


# Groups by marks, as xdist has them, come to nothing with pytest 9.2: each test would go anywhere,
# and three processes would start one Ray after the other. So groups are passed in a file.


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    node.workerinput["groups"] = str(_groups_file(node.workerinput["testrunuid"]))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    worker_input = getattr(config, "workerinput", None)
    if worker_input is not None:
        items[:] = in_order(items)
        file = Path(worker_input["groups"])
        mine = file.with_suffix(f".{worker_input['workerid']}")
        mine.write_text(json.dumps({item.nodeid: group_of(item) for item in items}))
        mine.replace(file)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    if config.getvalue("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadScopeScheduling

    config.option.loadscopereorder = False  # they are in the order of `in_order`

    groups: dict[str, str] = {}

    class Groups(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            if not groups:  # by now every process has written the same file
                file = _groups_file(self.nodes[0].workerinput["testrunuid"])
                groups.update(json.loads(file.read_text()))
                file.unlink()
            return groups[nodeid]

    return Groups(config, log)


def _groups_file(run: str) -> Path:
    return Path(tempfile.gettempdir(), f"curator-tests-{run}.json")
