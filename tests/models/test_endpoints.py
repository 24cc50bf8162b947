"""Chat endpoints check their configuration, limit the time of answers, and retry failures.

The tests of the captioning stages cover the answers and status codes of servers.
"""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from curator_models.endpoints import ChatEndpoint, NoAnswerError


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"url": "host/v1"}, "url is 'host/v1'; write it like https://host/v1"),
        ({"url": "https://me:pass@host/v1"}, "url contains a user or a password"),
        ({"url": "http://far.org/v1"}, "the key would be sent to far.org unencrypted: use https"),
        ({"api_key_variable": "NO_SUCH"}, "api_key_variable is 'NO_SUCH', but no such env"),
        ({"attempts": 0}, "attempts is 0, but must be 1 or more"),
        ({"timeout_s": 0}, "request_timeout_s is 0, but must be more than 0"),
    ],
)
def test_invalid_options_are_refused_before_any_request(
    monkeypatch: pytest.MonkeyPatch, change: dict[str, Any], expected: str
) -> None:
    monkeypatch.setenv("MY_KEY", "sk-very-secret-key")
    options = {"url": "https://host/v1", "model": "m", "api_key_variable": "MY_KEY"}
    [problem] = ChatEndpoint(**(options | change)).problems()
    assert problem.startswith(expected)


@contextmanager
def serving(answer: Callable[[BaseHTTPRequestHandler], None]) -> Iterator[str]:
    """Answer POST requests on this machine; yield the URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            answer(self)

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize("start", ["HTTP/1.1 200 OK\r\nX: ", "HTTP/1.1 200 OK\r\n\r\n"])
def test_the_timeout_covers_an_answer_that_arrives_byte_by_byte(start: str) -> None:
    hung_up = threading.Event()

    def drip(handler: BaseHTTPRequestHandler) -> None:
        try:
            handler.wfile.write(start.encode())
            for _ in range(2000):
                handler.wfile.write(b"x")
                threading.Event().wait(0.01)
        except OSError:
            hung_up.set()

    with serving(drip) as url:
        with pytest.raises(NoAnswerError, match="longer than"):
            ChatEndpoint(url, "any", timeout_s=0.3, attempts=1).ask("?", 5)
        assert hung_up.wait(30)


def test_a_server_with_another_protocol_is_quoted_after_all_attempts() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        requests: list[bytes] = []

        def answer() -> None:
            for _ in range(2):
                client, _ = listener.accept()
                with client:
                    requests.append(b"")
                    while not requests[-1].endswith(b"}"):
                        requests[-1] += client.recv(1 << 16)
                    client.sendall(b"220 mail.example.org ESMTP\r\n")

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        endpoint = ChatEndpoint(url, "m", attempts=2, backoff_s=0.01)
        with pytest.raises(NoAnswerError, match=r"does not answer: .*220 mail.*after 2 attempts"):
            endpoint.ask("what is it?", 5)
        thread.join(10)
    assert len(requests) == 2
