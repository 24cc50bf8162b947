"""A run that is finished already needs no cluster to say so, whatever executor it is given."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from curator_actor_pool.executor import RayActorPoolExecutor
from curator_core import LocalExecutor, Resources
from curator_core.errors import ResourceError
from curator_ray.cluster import connection as connection_module
from curator_ray.cluster import survey as survey_module
from curator_ray.cluster.nodes import ClusterFacts, NodeFacts
from curator_ray.errors import ClusterError
from curator_ray_data.executor import RayDataExecutor
from curator_streaming.executor import StreamingExecutor
from linekit import Same, line, parts, write_texts


class ClusterWantedError(Exception):
    pass


def no_cluster(*_: Any, **__: Any) -> None:
    raise ClusterWantedError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_texts(tmp_path / "in" / "a.jsonl", ["a"])
    return tmp_path


@pytest.mark.parametrize("executor", [StreamingExecutor, RayActorPoolExecutor, RayDataExecutor])
@pytest.mark.parametrize("again", [{"resume": False}, {"mode": "overwrite", "more": 1}])
def test_existing_output_is_kept_if_no_cluster_answers(
    executor: Any, again: dict[str, Any], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = dict(again)
    resume, more = options.pop("resume", True), options.pop("more", 0)
    line(folder, **options).run(LocalExecutor(workers=0))
    before = parts(folder)
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    with pytest.raises(ClusterError, match=r"no Ray cluster answers at 127\.0\.0\.1:1"):
        line(folder, *[Same()] * more, **options).run(executor(), resume=resume)
    assert before == parts(folder) != []


class Small:
    """The survey of a cluster with one CPU."""

    def __init__(self, connection: connection_module.Connection) -> None:
        self.facts = ClusterFacts((NodeFacts("n", cpus=1.0),))
        self.spans_machines = False


@contextmanager
def somewhere(*_: Any, **__: Any) -> Iterator[connection_module.Connection]:
    yield connection_module.Connection("joined", "somewhere:6379")


@pytest.mark.parametrize("executor", [StreamingExecutor, RayActorPoolExecutor, RayDataExecutor])
def test_existing_output_is_kept_if_the_cluster_is_too_small(
    executor: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line(folder, Same()).run(LocalExecutor(workers=0))
    before = parts(folder)
    monkeypatch.setattr(connection_module, "connected", somewhere)
    monkeypatch.setattr(survey_module, "Survey", Small)
    greedy = Same().with_(resources=Resources(cpus=64))
    with pytest.raises(ResourceError, match="asks for 64 CPU on one node, but the nodes have at m"):
        line(folder, greedy).run(executor(), resume=False)
    assert before == parts(folder) != []


@pytest.mark.parametrize("executor", [StreamingExecutor, RayActorPoolExecutor, RayDataExecutor])
def test_no_cluster_is_started_for_a_finished_run(
    executor: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_module, "connected", no_cluster)
    with pytest.raises(ClusterWantedError):
        line(folder).run(executor())
    assert line(folder).run(LocalExecutor(workers=0)).sources_done == 1
    again = line(folder).run(executor())
    assert (again.status, again.sources_done, again.sources_skipped) == ("done", 0, 1)
    write_texts(folder / "in" / "a.jsonl", ["another"])
    with pytest.raises(ClusterWantedError):
        line(folder).run(executor())
