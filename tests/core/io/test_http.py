"""Requests for files: allowed hosts, headers that are sent, and limits on time and size."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from curator_core import InputError
from curator_core.io import record_paths
from curator_core.io.http import HttpClient, PrivateHostError, RefusedError, is_public
from curator_core.io.record_paths import open_record_path


@pytest.mark.parametrize(
    "address",
    [
        "0.1.2.3", "10.0.0.1", "100.64.0.1", "127.0.0.1", "169.254.169.254", "172.16.0.1",
        "192.0.0.8", "192.0.0.170", "192.0.2.1", "192.88.99.1", "192.168.0.1", "198.18.0.1",
        "198.51.100.1", "203.0.113.1", "224.0.0.1", "240.0.0.1", "255.255.255.255",
        "::", "::1", "::127.0.0.1", "::8.8.8.8", "::ffff:127.0.0.1", "::ffff:0:127.0.0.1",
        "64:ff9b::127.0.0.1", "64:ff9b:1::8.8.8.8", "100::1", "100:0:0:1::1",
        "2001::1", "2001:0:808:808::", "2001:2::1", "2001:10::1", "2001:db8::1", "2002:7f00:1::",
        "3fff::1", "5f00::1", "fc00::1", "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1",
        "4000::1", "localhost", "127.1", "",
    ],
)  # fmt: skip
def test_special_addresses_are_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize(
    "address",
    ["1.1.1.1", "8.8.8.8", "100.128.0.1", "172.32.0.1", "198.20.0.1", "223.255.255.254",
     "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2002:808:808::", "2606:4700::1111", "2a00::1"],
)  # fmt: skip
def test_other_addresses_are_public(address: str) -> None:
    assert is_public(address)


class Answers:
    """Requests that servers got, and their responses."""

    def __init__(self, answer: "Callable[[BaseHTTPRequestHandler], None]") -> None:
        self.seen: list[Mapping[str, str]] = []
        self.hung_up = threading.Event()
        self.answer = answer


@contextmanager
def serving(answers: Answers) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answers.seen.append(dict(self.headers))
            try:
                answers.answer(self)
            except OSError:
                answers.hung_up.set()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _fine(request: BaseHTTPRequestHandler) -> None:
    request.send_response(200)
    request.send_header("Content-Length", "4")
    request.end_headers()
    request.wfile.write(b"fine")


def _leading(place: str) -> Callable[[BaseHTTPRequestHandler], None]:
    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(302)
        request.send_header("Location", place)
        request.end_headers()

    return answer


HEADERS = {"X-Api-Key": "KEY123", "Authorization": "KEY123"}


def test_no_header_that_was_given_goes_to_another_host() -> None:
    there = Answers(_fine)
    with serving(there) as second:
        here = Answers(_leading(second))
        with serving(here) as first, HttpClient(10, True, HEADERS).response(first, {}) as answer:
            assert answer.read() == b"fine"
    assert here.seen[0]["X-Api-Key"] == "KEY123"
    assert "KEY123" not in str(there.seen)


def test_headers_stay_on_the_way_within_a_host() -> None:
    def answer(request: BaseHTTPRequestHandler) -> None:
        (_fine if request.path == "/there" else _leading("/there"))(request)

    answers = Answers(answer)
    with serving(answers) as url, HttpClient(10, True, HEADERS).response(url, {}) as got:
        assert got.read() == b"fine"
    assert [seen["X-Api-Key"] for seen in answers.seen] == ["KEY123"] * 2


def _drips(start: bytes, drop: bytes) -> Callable[[BaseHTTPRequestHandler], None]:
    """Sends a little at a time until the client disconnects."""

    def answer(request: BaseHTTPRequestHandler) -> None:
        request.wfile.write(start)
        for _ in range(2000):
            request.wfile.write(drop)
            threading.Event().wait(0.01)

    return answer


@pytest.mark.parametrize(
    ("start", "drop"),
    [
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        (b"HTTP/1.1 200 OK\r\nX: ", b"x"),
        (b"HTTP/1.1 200 OK\r\n\r\n", b"x"),
    ],
    ids=["answers", "headers", "body"],
)
def test_one_deadline_covers_headers_and_body(start: bytes, drop: bytes) -> None:
    answers = Answers(_drips(start, drop))
    with serving(answers) as url:
        with pytest.raises(TimeoutError, match=r"longer than 0\.2 s"):  # noqa: SIM117
            with HttpClient(10, True, total_s=0.2).response(url, {}) as answer:
                answer.read()
        assert answers.hung_up.wait(30)


def test_redirects_are_within_the_deadline() -> None:
    def answer(request: BaseHTTPRequestHandler) -> None:
        threading.Event().wait(0.1)
        _leading("/again")(request)

    with (
        serving(Answers(answer)) as url,
        pytest.raises(TimeoutError),
        HttpClient(10, True, total_s=0.3).response(url, {}),
    ):
        pass


class TestPathsInRecords:
    @pytest.mark.parametrize(
        "path",
        ["ftp://127.0.0.1/x.wav", "sftp://host/x.wav", "smb://host/x.wav", "foo://x", "FTP://h/x",
         "reference://x::refs.json", "reference::refs.json", "dask::file:///x",
         "tar://a::http://127.0.0.1/x.tar", "simplecache::ftp://127.0.0.1/x", "a\0b.wav",
         "http://[::1", "jupyter://localhost/x", "github://a:b@c/x"],
    )  # fmt: skip
    def test_refuses_other_protocols(self, path: str) -> None:
        with pytest.raises(InputError):
            open_record_path(path)

    @pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "0.0.0.0", "2130706433"])
    def test_refuses_private_hosts(self, host: str) -> None:
        answers = Answers(_fine)
        refused = pytest.raises(RefusedError, match=record_paths.HOSTS_VARIABLE)
        with serving(answers) as url, refused:
            open_record_path(url.replace("127.0.0.1", host))
        assert not answers.seen

    def test_refuses_a_redirect_to_a_private_host(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from curator_core.io import http as addresses

        monkeypatch.setattr(addresses, "is_public", lambda address: address == "127.0.0.1")
        away = Answers(_leading("http://127.0.0.2:1/"))
        with serving(away) as url, pytest.raises(PrivateHostError) as caught:
            open_record_path(url)
        assert caught.value.host == "127.0.0.2"

    def test_allows_private_hosts_that_are_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(record_paths.HOSTS_VARIABLE, "fileserver, 127.0.0.1")
        answers = Answers(_fine)
        with serving(answers) as url, open_record_path(url, {"headers": HEADERS}) as file:
            assert file.read() == b"fine"
            assert file.seek(1) == 1
        assert answers.seen[0]["X-Api-Key"] == "KEY123"

    def test_refuses_files_that_are_too_large(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(record_paths.HOSTS_VARIABLE, "127.0.0.1")
        monkeypatch.setattr(record_paths, "MOST_BYTES", 3)
        with serving(Answers(_fine)) as url, pytest.raises(RefusedError, match="larger"):
            open_record_path(url)

    def test_opens_local_files_and_stores(self, tmp_path: Path) -> None:
        import fsspec

        (tmp_path / "a.txt").write_text("here")
        with open_record_path(str(tmp_path / "a.txt")) as file:
            assert file.read() == b"here"
        fsspec.filesystem("memory").pipe_file("/named/a.txt", b"there")
        with open_record_path("memory://named/a.txt") as file:
            assert file.read() == b"there"
