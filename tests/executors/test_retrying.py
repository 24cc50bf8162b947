"""Records that failed one by one are retried on every executor, until nothing is missing."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from threading import Lock, Thread
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from clusterkit import two_cpus
from curator_core import (
    DocumentBatch,
    Executor,
    JsonlReader,
    JsonlWriter,
    LocalExecutor,
    Pipeline,
    ProcessingStage,
    Rejected,
)
from curator_core.plugins.registry import plugins
from curator_core.run.result import RunResult

FILES, ROWS = 4, 6
OTHERS = [pytest.param(name, marks=pytest.mark.soak) for name in ("ray_data", "actor_pool")]
NAMES = ["core.local", "streaming", *OTHERS]
"""A retry is a run of other sources: who can resume can retry, which the contract tries on each."""


class Server:
    """Answers with the path in capital letters, as long as it is up."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.answers_left = FILES * ROWS * 100
        self._lock = Lock()

    def may_answer(self) -> bool:
        with self._lock:
            self.answers_left -= 1
            return self.answers_left >= 0


@contextmanager
def serving() -> Iterator[Server]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            good = server.may_answer()
            body = self.path.upper().encode()
            self.send_response(200 if good else 503)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        server = Server(f"http://127.0.0.1:{http.server_port}")
        Thread(target=http.serve_forever, daemon=True).start()
        yield server
        http.shutdown()


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as found:
        yield found


@dataclass
class Asks(ProcessingStage[DocumentBatch, DocumentBatch]):
    """Asks a server about each record; those without an answer are rejected one by one."""

    url: str

    def process(self, task: DocumentBatch) -> Iterator[DocumentBatch | Rejected]:
        answered, failed = [], {}
        for row, record in enumerate(task.to_pylist()):
            try:
                with urlopen(f"{self.url}/{record['text']}") as answer:
                    answered.append({**record, "answer": answer.read().decode()})
            except URLError as error:
                failed[row] = str(error)
        if answered:
            yield DocumentBatch.from_pylist(answered)
        for row, reason in failed.items():
            yield Rejected(reason, row=row)


class Numbers(ProcessingStage[DocumentBatch, DocumentBatch]):
    """A stage behind it that drops some of the answers."""

    def process(self, task: DocumentBatch) -> Any:
        return task.keep(["2" not in one["answer"] for one in task.to_pylist()], "has a 2")


def pipeline_in(folder: Path, server: Server, out: str = "out") -> Pipeline:
    (folder / "in").mkdir(exist_ok=True)
    for file in range(FILES):
        rows = [json.dumps({"text": f"r{file}-{row}"}) for row in range(ROWS)]
        path = folder / "in" / f"{file}.jsonl"
        if not path.exists():
            path.write_text("\n".join(rows) + "\n")
    stages = [
        JsonlReader(str(folder / "in")),
        Asks(server.url),
        Numbers(),
        JsonlWriter(str(folder / out)),
    ]
    return Pipeline("asks", stages=stages, max_failures=None)


def records(folder: Path) -> list[str]:
    return sorted(line for f in folder.glob("*.jsonl") for line in f.read_text().splitlines())


def items(result: RunResult) -> dict[str, tuple[int, ...]]:
    return {
        name: (c.items_in, c.items_out, c.items_dropped, c.items_rejected, c.items_failed)
        for name, c in list(result.stages.items())[:-1]  # a writer's output is files
    }


@pytest.fixture(params=NAMES)
def executor(request: pytest.FixtureRequest, one_ray: Any) -> Executor:
    if request.param not in plugins().executors.places:
        pytest.skip(f"{request.param} is not installed")
    if request.param != "core.local" and find_spec("ray"):
        one_ray.use(two_cpus, Path(__file__).parent)
    options = {"workers": 2} if request.param == "core.local" else {}
    made: Executor = plugins().executors.load(request.param)(**options)
    return made


def test_a_server_that_went_away_costs_nothing_in_the_end(
    executor: Executor, server: Server, tmp_path: Path
) -> None:
    undisturbed = pipeline_in(tmp_path, server, "expected").run(LocalExecutor(workers=0))
    pipeline = pipeline_in(tmp_path, server)

    server.answers_left = FILES * ROWS // 2
    broken = pipeline.run(executor)
    run_dir = str(broken.run_dir)
    assert len(broken.quarantined) == FILES * ROWS // 2
    assert all(r.is_worth_retrying and not r.whole_task for r in broken.quarantined)
    assert len(records(tmp_path / "out")) < len(records(tmp_path / "expected"))

    server.answers_left = 5  # some of it heals, the rest stays
    again = pipeline.retry(run_dir, executor)
    assert len(again.quarantined) == FILES * ROWS // 2 - 5

    server.answers_left = FILES * ROWS
    healed = pipeline.retry(run_dir, executor)
    assert healed.quarantined == []
    assert records(tmp_path / "out") == records(tmp_path / "expected")
    assert items(healed) == items(undisturbed)

    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").glob("part-*")}
    repeated = pipeline.retry(run_dir, executor)
    assert (len(repeated), repeated.quarantined) == (0, [])
    assert items(repeated) == items(healed)
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "out").glob("part-*")} == before
    assert not list((tmp_path / "out/.curator/asks/quarantine").iterdir())
