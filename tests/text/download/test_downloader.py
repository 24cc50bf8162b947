import gzip
import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from curator_core import Empty, FileGroup, Pipeline, PipelineError
from curator_core.io.http import is_public, loggable_url, parse_url
from curator_core.testing import StageRun, run_stages
from curator_text import CommonCrawlReader, Downloader, JsonlWriter
from curator_text.download.downloader import file_name

DATA = bytes(range(256)) * 2000
SHA = hashlib.sha256(DATA).hexdigest()
PACKED = gzip.compress(
    b"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://x.example/\r\n"
    b"Content-Type: text/html\r\nContent-Length: 2\r\n\r\nhi\r\n\r\n"
)


class Site(BaseHTTPRequestHandler):
    """A server that behaves differently for each path."""

    def do_GET(self) -> None:
        seen = self.server.seen  # type: ignore[attr-defined]
        seen.append((self.path, self.headers.get("Range"), self.headers.get("Authorization")))
        times = sum(path == self.path for path, *_ in seen)
        getattr(self, f"_{self.path.strip('/').partition('?')[0]}")(times)

    def _send(self, data: bytes, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content_Length": str(len(data)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)

    def _fine(self, times: int) -> None:
        self._send(DATA, ETag='"1"')

    def _archive(self, times: int) -> None:
        self._send(PACKED)

    def _busy(self, times: int) -> None:
        self._send(DATA if times > 2 else b"later", 200 if times > 2 else 503)

    def _gone(self, times: int) -> None:
        self._send(b"", 404)

    def _breaks(self, times: int) -> None:
        """Close the connection once, then serve the rest on request."""
        asked = self.headers.get("Range")
        if asked and self.headers.get("If-Range") == '"1"':
            start = int(asked.removeprefix("bytes=").rstrip("-"))
            place = f"bytes {start}-{len(DATA) - 1}/{len(DATA)}"
            self._send(DATA[start:], 206, ETag='"1"', Content_Range=place)
        else:
            self._send(DATA[:100_000], ETag='"1"', Content_Length=str(len(DATA)))
            self.close_connection = True

    def _changes(self, times: int) -> None:
        """Close the connection once, then serve a different file."""
        if times == 1:
            self._send(b"old" * 1000, ETag='"1"', Content_Length=str(len(DATA)))
            self.close_connection = True
        else:
            self._send(DATA, ETag='"2"')

    def _endless(self, times: int) -> None:
        self.send_response(200)
        self.end_headers()
        try:
            for _ in range(1000):
                self.wfile.write(b"x" * 10_000)
        except OSError:
            pass

    def _elsewhere(self, times: int) -> None:
        self._send(b"", 302, Location="/fine")

    def _circle(self, times: int) -> None:
        self._send(b"", 302, Location="/circle")

    def _inside(self, times: int) -> None:
        self._send(b"", 302, Location="http://169.254.169.254/latest/meta-data")

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serving() -> Iterator[ThreadingHTTPServer]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    server.seen = []  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def server() -> Iterator[ThreadingHTTPServer]:
    with serving() as running:
        yield running


def url(server: ThreadingHTTPServer, path: str) -> str:
    return f"http://127.0.0.1:{server.server_port}/{path}"


def fetch(folder: Path, *urls: str, **options: object) -> StageRun:
    chosen = {"allow_private": True, "backoff_s": 0.01, "attempts": 3, **options}
    stage = Downloader(list(urls), str(folder), **chosen)  # type: ignore[arg-type]
    return run_stages([stage], [Empty()], on_error="quarantine")


def quarantine_reasons(run: StageRun) -> str:
    return "\n".join(record.reason for record in run.report.quarantined)


@pytest.mark.parametrize("path", ["fine", "busy", "breaks", "changes", "elsewhere"])
def test_file_is_downloaded_completely(
    tmp_path: Path, server: ThreadingHTTPServer, path: str
) -> None:
    run = fetch(tmp_path, url(server, path), checksums={url(server, path): f"sha256:{SHA}"})
    assert quarantine_reasons(run) == ""
    [file] = [Path(one) for task in run.outputs for one in task.paths]
    assert file.read_bytes() == DATA
    assert [one.name for one in tmp_path.iterdir()] == [file.name]


def test_partial_download_is_resumed(tmp_path: Path, server: ThreadingHTTPServer) -> None:
    fetch(tmp_path, url(server, "breaks"))
    ranges = [asked for _, asked, _ in server.seen]  # type: ignore[attr-defined]
    assert ranges == [None, "bytes=100000-"]


def test_existing_file_is_not_requested_again(tmp_path: Path, server: ThreadingHTTPServer) -> None:
    fetch(tmp_path, url(server, "fine"))
    fetch(tmp_path, url(server, "fine"))
    assert len(server.seen) == 1  # type: ignore[attr-defined]


def test_failed_url_does_not_affect_the_others(tmp_path: Path, server: ThreadingHTTPServer) -> None:
    missing, endless, bad = url(server, "gone"), url(server, "endless"), url(server, "fine")
    good = url(server, "busy")
    run = fetch(
        tmp_path, missing, endless, bad, good, max_bytes="1MB", checksums={bad: "md5:" + "0" * 32}
    )
    assert [len(task.paths) for task in run.outputs] == [1]
    reasons = quarantine_reasons(run)
    assert "/gone: the server answered 404 Not Found" in reasons
    assert "/endless is larger than 1000000 bytes (max_bytes)" in reasons
    assert "but should have 00000000000000000000000000000000" in reasons
    assert len(list(tmp_path.iterdir())) == 1
    assert not any(record.is_worth_retrying for record in run.report.quarantined)


def test_unavailable_urls_are_kept_for_a_retry(tmp_path: Path, server: ThreadingHTTPServer) -> None:
    good, busy = url(server, "fine"), url(server, "busy")
    run = fetch(tmp_path, good, busy, attempts=1)
    [record] = run.report.quarantined
    assert record.is_worth_retrying
    assert FileGroup.from_payload(record.subtask or b"").paths == [busy]


def test_private_hosts_are_not_requested(tmp_path: Path, server: ThreadingHTTPServer) -> None:
    host = url(server, "fine").replace("127.0.0.1", "localhost")
    run = fetch(tmp_path, host, url(server, "fine"), allow_private=False)
    reasons = quarantine_reasons(run)
    assert "127.0.0.1, which is not a public address" in reasons
    assert "allow_private" in reasons
    assert server.seen == []  # type: ignore[attr-defined]


def test_redirect_to_a_private_host_is_refused(
    tmp_path: Path, server: ThreadingHTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the test server counts as public; the target of the redirect does not."""
    from curator_core.io import http as addresses

    monkeypatch.setattr(addresses, "is_public", lambda address: address == "127.0.0.1")
    run = fetch(tmp_path, url(server, "inside"), allow_private=False)
    assert quarantine_reasons(run).startswith("169.254.169.254 is at")


def test_endless_redirects_are_refused(tmp_path: Path, server: ThreadingHTTPServer) -> None:
    assert quarantine_reasons(fetch(tmp_path, url(server, "circle"))).endswith(
        "more than 10 redirects"
    )


def test_secret_headers_are_sent_only_to_the_first_host(
    tmp_path: Path, server: ThreadingHTTPServer
) -> None:
    fetch(tmp_path, url(server, "fine"), headers={"Authorization": "key"})
    assert server.seen[0][2] == "key"  # type: ignore[attr-defined]
    assert "key" not in repr(Downloader("http://x.example", "f", headers={"Authorization": "key"}))


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "10.0.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0", "100.64.0.1", "::1",
     "fe80::1%eth0", "fc00::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "224.0.0.1",
     "nonsense"],
)  # fmt: skip
def test_address_is_not_public(address: str) -> None:
    assert not is_public(address)


def test_public_addresses() -> None:
    assert is_public("8.8.8.8")
    assert is_public("2606:4700::1111")


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("file:///etc/passwd", "is not an http:// or https:// URL"),
        ("http://user:key@x.example/", "holds a password; give it in headers"),
        ("http://x.example/a b", "has characters that are not allowed in a URL"),
        ("http://x.example/\r\nA: b", "has characters that are not allowed in a URL"),
        ("http://x.example:99999/", "is not a URL: Port out of range"),
    ],
)
def test_invalid_urls_are_refused(tmp_path: Path, url: str, reason: str) -> None:
    with pytest.raises(PipelineError, match=reason) as caught:
        Pipeline("x", stages=[Downloader([url], str(tmp_path))]).build()
    assert "key" not in str(caught.value)


def test_credentials_in_a_url_are_hidden() -> None:
    assert loggable_url("https://u:p@x.example/a?key=1#b") == "https://x.example/a"
    assert parse_url("https://x.example/a?key=1") == ("https", "x.example", 443, "/a?key=1")


@pytest.mark.parametrize("path", ["..%2f..%2fetc%2fpasswd", "%00", "..", ".hidden", "a" * 500])
def test_file_names_stay_in_the_folder(path: str) -> None:
    name = file_name(f"http://x.example/{path}")
    assert "/" not in name
    assert "\0" not in name
    assert not name.startswith(".")
    assert len(name) < 200


def test_url_list_with_checksums(tmp_path: Path, server: ThreadingHTTPServer) -> None:
    listed = tmp_path / "list.txt"
    listed.write_text(f"{url(server, 'fine')} sha256:{SHA}\n\n")
    stage = Downloader(str(listed), str(tmp_path / "out"), allow_private=True)
    assert [len(task.paths) for task in run_stages([stage], [Empty()]).outputs] == [1]
    with pytest.raises(PipelineError, match="cannot read the list of URLs"):
        Pipeline("x", stages=[Downloader("nowhere.txt", "out")]).build()


def test_crawl_archives_are_read_from_a_folder(tmp_path: Path) -> None:
    (tmp_path / "crawl").mkdir()
    (tmp_path / "crawl" / "a.warc.gz").write_bytes(PACKED)
    (tmp_path / "warc.paths.gz").write_bytes(gzip.compress(b"crawl/a.warc.gz\n"))
    stage = CommonCrawlReader(str(tmp_path / "warc.paths.gz"), str(tmp_path))
    [batch] = run_stages([stage], [Empty()]).outputs
    assert batch.data["url"].to_pylist() == ["http://x.example/"]


def test_crawl_archives_are_downloaded(tmp_path: Path, server: ThreadingHTTPServer) -> None:
    (tmp_path / "warc.paths").write_text("archive\n")
    stage = CommonCrawlReader(
        str(tmp_path / "warc.paths"),
        url(server, "").rstrip("/"),
        str(tmp_path / "kept"),
        allow_private=True,
    )
    [batch] = run_stages([stage], [Empty()]).outputs
    assert batch.data["content"].to_pylist() == [b"hi"]
    assert len(list((tmp_path / "kept").iterdir())) == 1


def test_missing_url_list_is_a_problem_of_the_plan(tmp_path: Path) -> None:
    stages = [CommonCrawlReader(str(tmp_path / "no.paths")), JsonlWriter(str(tmp_path / "out"))]
    with pytest.raises(PipelineError, match=r"'common_crawl_reader_files'.*no\.paths"):
        Pipeline("x", stages=stages).build()
