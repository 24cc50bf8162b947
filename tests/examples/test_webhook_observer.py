"""The example package posts results to a server, and an unreachable server harms no run."""

import importlib.util
import json
import sys
import threading
import tomllib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from curator_core import LocalExecutor, Pipeline, Task, processing_stage
from curator_core.plugins.registry import Plugins

PACKAGE = Path(__file__).parents[2] / "examples" / "webhook_observer"
HERE = LocalExecutor(workers=0)


@pytest.fixture(scope="module")
def webhook() -> Iterator[ModuleType]:
    spec = importlib.util.spec_from_file_location("curator_webhook", PACKAGE / "curator_webhook.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["curator_webhook"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    del sys.modules["curator_webhook"]


class Receiver(BaseHTTPRequestHandler):
    messages: list[dict[str, Any]]

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        self.messages.append(json.loads(self.rfile.read(length)))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The address of a webhook, and what it was sent."""
    messages: list[dict[str, Any]] = []
    handler = type("Handler", (Receiver,), {"messages": messages})
    with HTTPServer(("127.0.0.1", 0), handler) as http:
        thread = threading.Thread(target=http.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{http.server_port}/hook", messages
        http.shutdown()
        thread.join()


@processing_stage(name="same")
def same(task: Task[int]) -> Task[int]:
    return task


PIPELINE = Pipeline("trial", stages=[same])


def test_the_result_of_a_run_is_posted(
    webhook: ModuleType, server: tuple[str, list[dict[str, Any]]]
) -> None:
    url, messages = server
    PIPELINE.run(HERE, [Task(1), Task(2)], observers=[webhook.WebhookObserver(url)])
    [message] = messages
    assert message.pop("seconds") >= 0
    expected = {"run": "trial", "status": "done", "sources": 2, "files": 0, "quarantined": 0}
    assert message == expected


def test_a_server_that_is_gone_costs_one_warning(
    webhook: ModuleType, caplog: pytest.LogCaptureFixture
) -> None:
    observers = [webhook.WebhookObserver("http://127.0.0.1:9/hook")]
    assert PIPELINE.run(HERE, [Task(1)], observers=observers).status == "done"
    assert "WebhookObserver failed" in caplog.text


def test_it_installs_as_a_plugin(webhook: ModuleType) -> None:
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]
    [(name, module)] = project["entry-points"]["curator_core"].items()
    assert module == webhook.__name__
    plugins = Plugins()
    plugins.register(name, webhook)
    assert plugins.observers.load("webhook.results") is webhook.WebhookObserver
