"""Pictures are downloaded from URLs, and bad answers are quarantined."""

import io
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from corpus.drawing import Dice
from corpus.pictures import drawn
from corpus.shards import bomb
from curator_core import (
    AnyStage,
    DocumentBatch,
    JsonlReader,
    LocalExecutor,
    ParquetWriter,
    Pipeline,
    Rejected,
)
from curator_image import ImageBatch, ImageDownloader

Problems = Callable[[AnyStage], list[str]]


def jpeg() -> bytes:
    out = io.BytesIO()
    drawn(Dice("web"), 60, 40).save(out, "JPEG")
    return out.getvalue()


class Pages(BaseHTTPRequestHandler):
    failures: dict[str, int]

    def do_GET(self) -> None:
        if self.failures.get(self.path, 0) > 0:
            self.failures[self.path] -= 1
            self.send_error(503)
            return
        body = {"/bomb": bomb(Dice("x"), 1).data, "/page": b"<html>", "/large": jpeg() * 50}
        found = body.get(self.path, jpeg())
        self.send_response(404 if self.path == "/gone" else 200)
        self.send_header("Content-Length", str(len(found) + (9 if self.path == "/short" else 0)))
        self.end_headers()
        self.wfile.write(found)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    Pages.failures = {"/twice": 2}
    with ThreadingHTTPServer(("127.0.0.1", 0), Pages) as serving:
        thread = threading.Thread(target=serving.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{serving.server_port}"
        serving.shutdown()
        thread.join()


def fetch(server: str, *pages: str, **options: object) -> tuple[list[ImageBatch], dict[str, str]]:
    given = {"allow_private": True, "backoff_s": 0.01, "max_bytes": "60kB", **options}
    stage = ImageDownloader(**given)  # type: ignore[arg-type]
    rows = [{"url": f"{server}{page}", "key": page, "n": n} for n, page in enumerate(pages)]
    found = list(stage.process(DocumentBatch.from_pylist(rows)))
    rejected = {one.where: one.reason for one in found if isinstance(one, Rejected)}
    return [one for one in found if isinstance(one, ImageBatch)], rejected


def test_pictures_keep_the_columns_of_their_rows(server: str) -> None:
    [batch], rejected = fetch(server, "/a.jpeg", "/twice")
    assert rejected == {}
    assert [(row["key"], row["n"], row["extension"]) for row in batch.to_pylist()] == [
        ("/a.jpeg", 0, "jpg"),
        ("/twice", 1, "jpg"),
    ]
    assert batch.to_pylist()[0]["image"] == jpeg()


def test_bad_and_large_pictures_are_quarantined_alone(server: str) -> None:
    pages = ("/bomb", "/page", "/large", "/gone", "/short", "/good")
    [batch], rejected = fetch(server, *pages)
    assert batch.keys == ["/good"]
    assert {where: reason.removeprefix(server) for where, reason in rejected.items()} == {
        "key '/bomb'": "/bomb: 13000 x 13000 pixels exceed the limit of 89,478,485",
        "key '/page'": "/page: it is not an image of a known format",
        "key '/large'": "/large is larger than 60,000 bytes (max_bytes)",
        "key '/gone'": "/gone: the server answered 404 Not Found",
        "key '/short'": rejected["key '/short'"].removeprefix(server),
    }
    assert "/short cannot be downloaded" in rejected["key '/short'"]


def test_failed_downloads_succeed_on_retry(server: str, tmp_path: Path) -> None:
    """The keys stay the same, although they contain the row numbers of the first run."""

    def pipeline(out: str) -> Pipeline:
        fetching = ImageDownloader(allow_private=True, attempts=1)
        stages = [JsonlReader(str(tmp_path / "in.jsonl")), fetching, ParquetWriter(out)]
        return Pipeline("pictures", stages=stages, max_failures=None)

    def rows(out: str) -> list[dict[str, object]]:
        found = [
            row for file in Path(out).glob("*.parquet") for row in pq.read_table(file).to_pylist()
        ]
        return sorted(found, key=lambda row: str(row["key"]))

    urls = [f"{server}/{n}" for n in range(6)]
    (tmp_path / "in.jsonl").write_text("".join(f'{{"url": "{url}"}}\n' for url in urls))
    there, here = str(tmp_path / "expected"), str(tmp_path / "out")
    pipeline(there).run(LocalExecutor(workers=0))
    Pages.failures = {"/2": 1, "/5": 1}
    result = pipeline(here).run(LocalExecutor(workers=0))
    assert [record.is_worth_retrying for record in result.quarantined] == [True, True]
    healed = pipeline(here).retry(str(result.run_dir), LocalExecutor(workers=0))
    assert healed.quarantined == []
    assert rows(here) == rows(there)
    assert len(rows(here)) == 6


def test_private_hosts_are_not_contacted(server: str) -> None:
    batches, rejected = fetch(server, "/a", allow_private=False)
    assert batches == []
    assert "127.0.0.1, which is not a public address" in rejected["key '/a'"]
    _, rejected = fetch("file://", "/etc/passwd")
    assert "is not an http:// or https:// URL" in rejected["key '/etc/passwd'"]


def test_wrong_options_are_named(problems: Problems) -> None:
    assert problems(ImageDownloader(attempts=0, max_bytes="many")) == [
        "attempts is 0",
        "max_bytes is 'many'",
    ]
