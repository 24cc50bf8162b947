"""Output of an earlier run is only removed once nothing can refuse the new run."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from curator_core import DocumentBatch, LocalExecutor, Pipeline, PipelineError
from curator_core.errors import ResourceError
from curator_core.plan.plan import Plan
from linekit import Same, line, write_texts


@dataclass
class Locked(Same):
    name = "same"
    lock: Any = field(default_factory=threading.Lock)


class Fails(Same):
    name = "same"

    def process(self, task: DocumentBatch) -> DocumentBatch:
        raise ValueError("no")


class Distant(LocalExecutor):
    """Records connections, and refuses them if configured."""

    def __init__(self, refusal: str = "") -> None:
        super().__init__(workers=0)
        self.refusal = refusal
        self.heard: list[str] = []

    @contextmanager
    def connect(self, plan: Plan) -> Iterator[None]:
        self.heard.append("reached")
        if self.refusal:
            raise ResourceError(self.refusal)
        yield
        self.heard.append("left")

    def execute(self, plan: Plan, run: Any) -> Iterator[Any]:
        self.heard.append("executed")
        return super().execute(plan, run)


@pytest.fixture
def planned(tmp_path: Path) -> Any:
    write_texts(tmp_path / "in" / "a.jsonl", ["a"])

    def planned(stage: Any = None, **more: Any) -> Pipeline:
        pipeline = line(tmp_path, stage or Same(), **more)
        pipeline.max_failures = None
        return pipeline

    return planned


def there(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file() and path.name != "lock")
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


@pytest.mark.parametrize(
    ("first", "again", "resume"),
    [
        (Same(), {}, False),
        (Fails(), {}, False),  # whose quarantine is all that there is
        (Same(), {"mode": "overwrite"}, False),
        (Same(), {"mode": "overwrite", "name": "another"}, True),
    ],
)
def test_a_refusing_executor_leaves_the_output_unchanged(
    planned: Any, tmp_path: Path, first: Any, again: dict[str, Any], resume: bool
) -> None:
    planned(first).run(Distant())
    before = there(tmp_path / "out")
    executor = Distant("the cluster has no GPU")
    with pytest.raises(ResourceError, match="the cluster has no GPU"):
        planned(**again).run(executor, resume=resume)
    assert executor.heard == ["reached"]
    assert there(tmp_path / "out") == before


def test_the_executor_stays_connected_until_the_run_has_ended(planned: Any) -> None:
    first, again, anew = Distant(), Distant(), Distant()
    planned().run(first)
    planned().run(again)
    assert [*first.heard, *again.heard] == ["executed", "executed"]  # nothing is taken away
    assert planned().run(anew, resume=False).sources_done == 1
    assert anew.heard == ["reached", "executed", "left"]
    stopped = Distant()
    with planned().stream(stopped, resume=False) as stream:
        next(stream)
    assert stopped.heard == ["reached", "executed", "left"]


def test_unpicklable_stages_remove_no_output(planned: Any, tmp_path: Path) -> None:
    planned().run(Distant())
    before = there(tmp_path / "out")
    with pytest.raises(PipelineError, match=r"'same' cannot be sent to a worker .* 'lock' is a"):
        planned(Locked()).run(LocalExecutor(workers=1), resume=False)
    assert there(tmp_path / "out") == before


def test_a_pipeline_without_a_reader_removes_no_output(planned: Any, tmp_path: Path) -> None:
    planned().run(Distant())
    before = there(tmp_path / "out")
    no_reader = Pipeline("p", stages=planned().stages[1:])
    with pytest.raises(PipelineError, match="'same' takes DocumentBatch, but nothing comes before"):
        no_reader.run(Distant(), resume=False)
    assert there(tmp_path / "out") == before
