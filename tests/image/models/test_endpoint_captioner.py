"""Captions from a local server that answers, fails, refuses and hangs."""

import base64
import io
import json
import logging
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from curator_core import Rejected, StageError, WorkerInfo
from curator_core.testing import check_stage, run_stage
from curator_image.image_batch import ImageBatch
from curator_image.models.endpoint_captioner import EndpointCaptioner
from curator_models.endpoints import EndpointError
from drawings import batch, drawn, encoded
from PIL import Image
from waitkit import eventually

KEY = "sk-very-secret-key"


@dataclass
class Server:
    """Record requests; answer with the next of `answers` (code, text), else with a caption."""

    url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    answers: list[tuple[int, str]] = field(default_factory=list)
    access_answer: tuple[int, str] = (200, '{"choices": [{"message": {"content": "Hello!"}}]}')
    may_answer: threading.Event = field(default_factory=threading.Event)
    open_requests: int = 0
    most_open_requests: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, body: bytes) -> tuple[int, str]:
        if json.loads(body)["max_tokens"] == 1:
            return self.access_answer
        with self.lock:
            self.open_requests += 1
            self.most_open_requests = max(self.most_open_requests, self.open_requests)
            self.requests.append(json.loads(body))
            answer = self.answers.pop(0) if self.answers else (200, "")
        self.may_answer.wait()
        with self.lock:
            self.open_requests -= 1
        return answer


@pytest.fixture
def server() -> Iterator[Server]:
    state = Server()
    state.may_answer.set()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            state.headers.append(dict(self.headers))
            body = self.rfile.read(int(self.headers["Content-Length"]))
            code, message = state.answer(body)
            if code == 200 and not message:
                content = json.loads(body)["messages"][0]["content"]
                raw = base64.b64decode(content[0]["image_url"]["url"].partition(",")[2])
                size = Image.open(io.BytesIO(raw)).size
                message = json.dumps({"choices": [{"message": {"content": f" {size} "}}]})
            self.send_response(code)
            if code == 429:
                self.send_header("Retry-After", "0")
            if code == 302:
                self.send_header("Location", f"{state.url}/elsewhere")
            self.end_headers()
            self.wfile.write(message.encode())

        def log_message(self, *_: object) -> None:
            pass

    served = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=served.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    state.url = f"http://127.0.0.1:{served.server_port}/v1"
    yield state
    state.may_answer.set()
    served.shutdown()
    served.server_close()
    thread.join()


def captioned(stage: EndpointCaptioner, task: ImageBatch) -> list[Any]:
    stage.setup(WorkerInfo())
    try:
        return list(stage.process(task))
    finally:
        stage.teardown()


def pictures(count: int) -> ImageBatch:
    return batch(*[encoded(drawn(number, (40 + number, 40))) for number in range(count)])


def test_answers_stay_with_their_pictures(server: Server) -> None:
    stage = EndpointCaptioner(server.url, "tiny", "What is it?", concurrency=3)
    [found] = captioned(stage, pictures(9))
    assert found.data["caption"].to_pylist() == [f"({40 + n}, 40)" for n in range(9)]
    asked = server.requests[0]
    assert (asked["model"], asked["max_tokens"], asked["temperature"]) == ("tiny", 256, 0)
    assert asked["messages"][0]["content"][1] == {"type": "text", "text": "What is it?"}
    assert "Authorization" not in server.headers[0]


def test_requests_run_in_parallel_up_to_the_limit(server: Server) -> None:
    server.may_answer.clear()
    stage = EndpointCaptioner(server.url, "tiny", concurrency=3)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(captioned, stage, pictures(9))
        assert eventually(lambda: server.open_requests == 3)
        server.may_answer.set()
        [found] = running.result()
    assert found.num_items == 9
    assert server.most_open_requests == 3


@pytest.mark.parametrize("code", [429, 500, 503])
def test_a_busy_server_is_retried(server: Server, code: int) -> None:
    server.answers = [(code, "busy"), (code, "busy")]
    stage = EndpointCaptioner(server.url, "tiny", backoff_s=0.01)
    [found] = captioned(stage, pictures(1))
    assert found.num_items == 1
    assert len(server.requests) == 3


def test_a_picture_without_an_answer_is_quarantined_alone(server: Server) -> None:
    server.answers = [(500, "out of luck"), (500, "out of luck")]
    stage = EndpointCaptioner(server.url, "tiny", attempts=2, backoff_s=0.01, concurrency=1)
    task = batch(encoded(drawn(1)), b"broken", encoded(drawn(2)))
    found, *rejected = captioned(stage, task)
    assert found.keys == ["c"]
    assert all(isinstance(note, Rejected) for note in rejected)
    assert [note.reason for note in rejected] == [
        "the endpoint answered 500 Internal Server Error: out of luck (after 2 attempts)",
        "it is not an image of a known format",
    ]
    assert [(note.row, note.damaged) for note in rejected] == [(0, False), (1, True)]


def test_a_refused_picture_is_not_sent_again(server: Server) -> None:
    server.answers = [(400, '{"error": "no such pictures here"}')]
    found, rejected = captioned(EndpointCaptioner(server.url, "tiny"), pictures(1))
    assert found.num_items == 0
    assert "400 Bad Request" in rejected.reason
    assert "no such pictures here" in rejected.reason
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("code", "hint"), [(401, "the key in api_key_variable"), (404, "check url, model"),
                       (302, "set url to the new address")],
)  # fmt: skip
def test_errors_that_would_recur_fail_the_run(
    server: Server, monkeypatch: pytest.MonkeyPatch, code: int, hint: str
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    server.answers = [(code, f"not with {KEY}")] * 9
    stage = EndpointCaptioner(server.url, "tiny", api_key_variable="MY_KEY", concurrency=1)
    with pytest.raises(EndpointError, match=hint) as caught:
        captioned(stage, pictures(1))
    assert len(server.requests) == 1
    assert KEY not in str(caught.value)
    assert "${secret:MY_KEY}" in str(caught.value)


@pytest.mark.parametrize("code", [401, 403, 404])
def test_a_wrong_key_or_model_ends_the_run_before_a_picture_is_sent(
    server: Server, code: int
) -> None:
    server.access_answer = (code, "not you")
    stage = EndpointCaptioner(server.url, "tiny")
    with pytest.raises(
        StageError, match=rf"could not be set up: .*answered {code} .*not you.*check url"
    ):
        run_stage(stage, pictures(2), on_error="quarantine")
    assert not server.requests


def test_a_busy_access_check_does_not_fail_the_run(server: Server) -> None:
    server.access_answer = (503, "busy")
    [found] = captioned(EndpointCaptioner(server.url, "tiny"), pictures(1))
    assert found.num_items == 1


def test_the_key_is_sent_and_never_shown(
    server: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    server.answers = [(200, f"<html>{KEY}")]
    stage = EndpointCaptioner(server.url, "tiny", api_key_variable="MY_KEY", attempts=1)
    with caplog.at_level(logging.DEBUG):
        found, rejected = captioned(stage, pictures(1))
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert found.num_items == 0
    assert rejected.reason.startswith("cannot read the answer of the endpoint: '<html>${sec")
    assert KEY not in repr(stage) + caplog.text + rejected.reason


@pytest.mark.parametrize("message", ['{"choices": []}', "[]", '{"choices": [{"message": {}}]}'])
def test_answers_without_a_text(server: Server, message: str) -> None:
    server.answers = [(200, message)]
    stage = EndpointCaptioner(server.url, "tiny", attempts=1)
    _, rejected = captioned(stage, pictures(1))
    assert "cannot read the answer" in rejected.reason


def test_a_server_that_is_silent(server: Server) -> None:
    server.may_answer.clear()
    stage = EndpointCaptioner(server.url, "tiny", request_timeout_s=0.1, attempts=1)
    _, rejected = captioned(stage, pictures(1))
    assert "does not answer: it took longer than 0.1 s (after 1 attempt)" in rejected.reason


def test_the_stage_passes_the_stage_checks(server: Server) -> None:
    check: Callable[..., None] = check_stage
    check(EndpointCaptioner(server.url, "tiny"), pictures(2))
