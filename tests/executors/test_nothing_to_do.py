"""A run that is finished already needs no cluster to say so, whatever executor it is given."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from curator_actor_pool.executor import RayActorPoolExecutor
from curator_core import (
    DocumentBatch,
    JsonlReader,
    JsonlWriter,
    LocalExecutor,
    Pipeline,
    ProcessingStage,
    Resources,
)
from curator_core.errors import ResourceError
from curator_ray import connecting, surveying
from curator_ray.errors import ClusterError
from curator_ray.facts import ClusterFacts, NodeFacts
from curator_ray_data.executor import RayDataExecutor
from curator_streaming.executor import StreamingExecutor


class Same(ProcessingStage[DocumentBatch, DocumentBatch]):
    def process(self, task: DocumentBatch) -> DocumentBatch:
        return task


class ClusterWantedError(Exception):
    pass


def no_cluster(*_: Any, **__: Any) -> None:
    raise ClusterWantedError


@pytest.mark.parametrize("executor", [StreamingExecutor, RayActorPoolExecutor, RayDataExecutor])
@pytest.mark.parametrize("again", [{"resume": False}, {"mode": "overwrite", "more": 1}])
def test_what_there_is_stays_where_no_cluster_answers(
    executor: Any, again: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages, out = tmp_path / "pages.jsonl", tmp_path / "out"
    pages.write_text('{"text": "a"}\n')
    options = dict(again)
    resume, more = options.pop("resume", True), options.pop("more", 0)

    def ran(on: Any, line: list[Any], **how: Any) -> Any:
        reader, writer = JsonlReader(file_paths=str(pages)), JsonlWriter(path=str(out), **options)
        return Pipeline("p", stages=[reader, *line, writer]).run(on, **how)

    ran(LocalExecutor(workers=0), [])
    before = sorted(out.glob("*.jsonl"))
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    with pytest.raises(ClusterError, match=r"no Ray cluster answers at 127\.0\.0\.1:1"):
        ran(executor(), [Same()] * more, resume=resume)
    assert before == sorted(out.glob("*.jsonl")) != []


class Small:
    """What is known of a cluster with next to nothing."""

    def __init__(self, connection: connecting.Connection) -> None:
        self.facts = ClusterFacts((NodeFacts("n", cpus=1.0),))
        self.is_far = False


@contextmanager
def somewhere(*_: Any, **__: Any) -> Iterator[connecting.Connection]:
    yield connecting.Connection("joined", "somewhere:6379")


@pytest.mark.parametrize("executor", [StreamingExecutor, RayActorPoolExecutor, RayDataExecutor])
def test_what_there_is_stays_where_the_cluster_is_too_small(
    executor: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages, out = tmp_path / "pages.jsonl", tmp_path / "out"
    pages.write_text('{"text": "a"}\n')
    line = [JsonlReader(str(pages)), Same(), JsonlWriter(str(out))]
    Pipeline("p", stages=line).run(LocalExecutor(workers=0))
    before = sorted(out.glob("*.jsonl"))
    monkeypatch.setattr(connecting, "connected", somewhere)
    monkeypatch.setattr(surveying, "Survey", Small)
    line[1] = Same().with_(resources=Resources(cpus=64))
    with pytest.raises(ResourceError, match="asks for 64 CPU on one node, but the nodes have at m"):
        Pipeline("p", stages=line).run(executor(), resume=False)
    assert before == sorted(out.glob("*.jsonl")) != []


@pytest.mark.parametrize("executor", [StreamingExecutor, RayActorPoolExecutor, RayDataExecutor])
def test_no_cluster_is_started_for_a_finished_run(
    executor: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = tmp_path / "pages.jsonl"
    pages.write_text('{"text": "a"}\n{"text": "b"}\n')
    stages = [JsonlReader(file_paths=str(pages)), JsonlWriter(path=str(tmp_path / "out"))]
    monkeypatch.setattr(connecting, "connected", no_cluster)

    def ran(on: Any) -> Any:
        return Pipeline("p", stages=stages).run(on)

    with pytest.raises(ClusterWantedError):
        ran(executor())
    assert ran(LocalExecutor(workers=0)).sources_done == 1
    again = ran(executor())
    assert (again.status, again.sources_done, again.sources_skipped) == ("done", 0, 1)
    pages.write_text('{"text": "c"}\n')
    with pytest.raises(ClusterWantedError):
        ran(executor())
