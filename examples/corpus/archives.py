"""Small web archives, the same on every machine: pages as servers send them, menus and all."""

import gzip
import html
import json
from collections.abc import Iterator
from pathlib import Path

from corpus.making import EDITION, documents, make_once

ARCHIVES = 8

_PLACES = ("news", "weather", "sport", "travel", "food", "letters", "archive", "about")
_MENU = "".join(f"<li><a href='/{name}'>{name.title()}</a></li>" for name in _PLACES)
_TEMPLATE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<style>.a{{margin:0}}</style><script>var visits = {{}};</script></head>
<body><header><nav><ul>{menu}</ul></nav></header>
<main><article>{body}</article></main>
<aside><h3>Elsewhere</h3><ul>{menu}</ul></aside>
<footer><p>Contact | Privacy | Terms</p></footer></body></html>
"""


def make_archives(folder: Path, number: int) -> bool:
    """Write archives with so many pages, and a few other things that a crawl meets.

    False where the very same ones are there already.
    """

    def write() -> None:
        packed = [gzip.compress(record, 6, mtime=0) for record in records(number)]
        for place in range(ARCHIVES):
            members = packed[place::ARCHIVES]
            if place % 4 == 0:
                members.insert(len(members) // 2, _damaged(members[0]))
            (folder / f"crawl-{place:02d}.warc.gz").write_bytes(b"".join(members))

    return make_once(folder, {"edition": EDITION, "pages": number}, write)


def _damaged(member: bytes) -> bytes:
    """As a disk gives it back that is about to fail."""
    return member[: len(member) // 2] + bytes(8) + member[len(member) // 2 + 8 :]


def records(number: int) -> Iterator[bytes]:
    """The records of the archives, not yet compressed."""
    yield _record("warcinfo", "", "application/warc-fields", b"software: made up\r\n")
    for index, document in enumerate(documents(number)):
        page = _page(document["text"]).encode("utf-8", "replace")
        yield _record("request", document["url"], "application/http; msgtype=request", b"GET /")
        yield _response(document["url"], "text/html; charset=utf-8", page, index)
        if index % 20 == 0:
            yield _response(f"{document['url']}.png", "image/png", b"\x89PNG" * 50, index)
        planted = json.dumps({"planted": document["planted"]}).encode()
        yield _record("metadata", document["url"], "application/json", planted)


def _page(text: str) -> str:
    title, _, _ = text.strip().partition("\n")
    blocks = "".join(f"<p>{_with_breaks(block)}</p>\n" for block in text.split("\n\n"))
    return _TEMPLATE.format(title=html.escape(title[:80]), menu=_MENU, body=blocks)


def _with_breaks(block: str) -> str:
    return html.escape(block).replace("\n", "<br>\n")


def _response(url: str, kind: str, body: bytes, index: int) -> bytes:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nX-Number: {index}\r\n\r\n"
    return _record("response", url, "application/http; msgtype=response", head.encode() + body)


def _record(kind: str, url: str, media: str, content: bytes) -> bytes:
    lines = [
        "WARC/1.0",
        f"WARC-Type: {kind}",
        *([f"WARC-Target-URI: {url}"] if url else []),
        "WARC-Date: 2024-05-01T00:00:00Z",
        f"Content-Type: {media}",
        f"Content-Length: {len(content)}",
    ]
    return "\r\n".join([*lines, "", ""]).encode() + content + b"\r\n\r\n"
