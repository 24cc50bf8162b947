"""A run that is finished already needs no cluster to say so, whatever executor it is given."""

from pathlib import Path
from typing import Any

import pytest
from curator_actor_pool.executor import RayActorPoolExecutor
from curator_core import JsonlReader, JsonlWriter, LocalExecutor, Pipeline
from curator_ray import connecting
from curator_ray_data.executor import RayDataExecutor
from curator_streaming.executor import StreamingExecutor


class ClusterWantedError(Exception):
    pass


def no_cluster(*_: Any, **__: Any) -> None:
    raise ClusterWantedError


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
