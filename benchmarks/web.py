"""Measures web pages and web archives: `hatch run bench:html [--quick] [ROW …]`.

The pages are those of a real book in three languages, half of them dressed as pages of the web are:
with menus, style and scripts. Only the time of the CPU counts, that of the
processes which read the pages included.
"""

import gzip
import os
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from statistics import mean
from typing import Any

from curator_core import DocumentBatch, FileGroup, FilePart, WorkerInfo
from curator_text import HtmlExtractor
from curator_text.html.algorithms import make_extractor
from curator_text.html.charset import decode_page
from curator_text.readers.warc import WarcReading
from measuring.figures import Figure
from measuring.paragraphs import pages as book_pages
from measuring.rows import Row, run_rows
from measuring.timing import in_turns

LANGUAGES = ("en-US", "de-DE", "fr-FR")
LEAST_HTML, LEAST_WARC = 15.0, 2.0
LEAST_CHARSETS = 0.9

STOP_LISTS = {
    "de-DE": ("de", "German"),
    "pl-PL": ("pl", "Polish"),
    "ru-RU": ("ru", "Russian"),
    "tr-TR": ("tr", "Turkish"),
}

CHARSETS = {
    "de-DE": ["cp1252"],
    "fr-FR": ["cp1252"],
    "es-ES": ["cp1252"],
    "pl-PL": ["cp1250", "iso8859-2"],
    "cs-CZ": ["cp1250"],
    "ru-RU": ["cp1251", "koi8-r", "cp866"],
    "el-GR": ["cp1253"],
    "tr-TR": ["cp1254"],
    "ar-MA": ["cp1256"],
    "ja-JP": ["cp932", "euc_jp", "iso2022_jp"],
    "ko-KR": ["cp949"],
    "zh-CN": ["gb18030"],
    "zh-TW": ["big5"],
}
"""What pages in these languages are usually written in, where it is not UTF-8."""

_DECLARATION = re.compile(r"<\?xml[^>]*>|<meta[^>]*charset[^>]*>")
_PARAGRAPH = re.compile(r'<div class="para">(.*?)</div>', re.DOTALL)
_TAG = re.compile(r"<[^>]+>")


@dataclass(frozen=True)
class Sizes:
    """How much work each row is measured on; each number is an option of the command."""

    rounds: int = 5
    pages: int = 240
    copies: int = 5
    """Of each page, in an archive; twice as many are extracted."""


QUICK = Sizes(rounds=1, pages=6, copies=1)


def book(number: int) -> list[bytes]:
    """So many of its pages in some languages, the same ones each time."""
    found = (path for name in LANGUAGES for path in sorted((book_pages() / name).glob("*.html")))
    plain = [path.read_bytes() for path in islice(found, number)]
    return [_dressed(page) if place % 2 else page for place, page in enumerate(plain)]


def _dressed(page: bytes) -> bytes:
    rules = "".join(f".c{n}{{margin:{n}px;color:#{n * 997:06x}}}" for n in range(250))
    scripts = "".join(f"<script>var a{n}={{x:{n}}};function f{n}(q){{return q*{n}}}</script>"
                      for n in range(70))  # fmt: skip
    links = "".join(f"<li class=m><a href='/p/{n}'>Page number {n}</a></li>" for n in range(80))
    head = f"<style>{rules}</style>{scripts}</head>".encode()
    menu = f"<aside class='sidebar'><ul>{links}</ul></aside>{scripts}</body>".encode()
    return page.replace(b"</head>", head).replace(b"</body>", menu)


def extraction(sizes: Sizes) -> Iterator[Figure]:
    from trafilatura import extract

    pages = book(sizes.pages)
    many = pages * sizes.copies * 2  # the start of the process that reads pages is part of it
    batch = DocumentBatch.from_pylist([{"content": page} for page in many])
    texts: dict[str, list[list[str]]] = {"ours": [], "trafilatura": []}
    seconds, taken = in_turns(
        {
            "trafilatura": lambda: _cpu_of(
                lambda: texts["trafilatura"].append([extract(page) or "" for page in pages])
            ),
            "ours": lambda: _cpu_of(lambda: texts["ours"].append(_extracted(batch))),
        },
        sizes.rounds,
    )
    counts = {"trafilatura": len(pages), "ours": len(many)}
    rates = {name: counts[name] / value for name, value in seconds.items()}
    ratio = rates["ours"] / rates["trafilatura"]
    same = all(one == texts["ours"][0] for one in texts["ours"])
    speed = {name: f"{rate:,.0f}/s" for name, rate in rates.items()}
    yield Figure(
        "pages to text with resiliparse, against trafilatura's default",
        f">= {LEAST_HTML:g}x",
        f"{ratio:.1f}x ({speed['ours']} against {speed['trafilatura']})",
        ratio >= LEAST_HTML,
        {"seconds": taken},
    )
    yield Figure("the same text each time", "yes", "yes" if same else "no", same)


def _extracted(batch: DocumentBatch) -> list[str]:
    stage = HtmlExtractor()
    stage.setup(WorkerInfo())
    try:
        [output] = stage.process(batch)
    finally:
        stage.teardown()
    assert isinstance(output, DocumentBatch)
    texts: list[str] = output.data["text"].to_pylist()
    return texts


def archives(sizes: Sizes) -> Iterator[Figure]:
    pages = book(sizes.pages)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pages.warc.gz"
        path.write_bytes(b"".join(map(_member, pages)) * sizes.copies)
        seconds, taken = in_turns(
            {
                "warcio": lambda: _own_cpu_of(lambda: _with_warcio(path)),
                "ours": lambda: _own_cpu_of(lambda: _tables(path)),
            },
            sizes.rounds,
        )
        found, theirs = _with_ours(path), _with_warcio(path)
    ratio, count = seconds["warcio"] / seconds["ours"], len(pages) * sizes.copies
    speed = {name: f"{count / value:,.0f}/s" for name, value in seconds.items()}
    yield Figure(
        "records of a .warc.gz as rows, against warcio",
        f">= {LEAST_WARC:g}x",
        f"{ratio:.1f}x ({speed['ours']} against {speed['warcio']})",
        ratio >= LEAST_WARC and found == theirs,
        {"seconds": taken, "records": len(found), "the same rows": found == theirs},
    )


def _member(page: bytes) -> bytes:
    content = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n" + page
    head = (
        "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://book.example/\r\n"
        "WARC-Date: 2024-01-01T00:00:00Z\r\nWARC-Record-ID: <urn:uuid:1>\r\n"
        "Content-Type: application/http; msgtype=response\r\n"
        f"Content-Length: {len(content)}\r\n\r\n"
    )
    return gzip.compress(head.encode() + content + b"\r\n\r\n", 6, mtime=0)


def _tables(path: Path) -> list[Any]:
    batches = WarcReading().process(FileGroup([FilePart(str(path))]))
    return [one.data for one in batches if isinstance(one, DocumentBatch)]


def _with_ours(path: Path) -> list[tuple[object, ...]]:
    names = ("url", "date", "http_status", "content")
    return [
        row for t in _tables(path) for row in zip(*(t[n].to_pylist() for n in names), strict=True)
    ]


def _with_warcio(path: Path) -> list[tuple[object, ...]]:
    from warcio.archiveiterator import ArchiveIterator

    with open(path, "rb") as file:
        return [
            (
                one.rec_headers.get_header("WARC-Target-URI"),
                one.rec_headers.get_header("WARC-Date"),
                int(one.http_headers.get_statuscode()),
                one.content_stream().read(),
            )
            for one in ArchiveIterator(file)
            if one.rec_type == "response"
        ]


def _own_cpu_of(work: Callable[[], object]) -> float:
    """Of this process, more finely than the time of others can be had."""
    before = time.process_time()
    work()
    return time.process_time() - before


def _cpu_of(work: Callable[[], object]) -> float:
    """Of this process and of those that it started and saw end."""
    before = os.times()
    work()
    after = os.times()
    return sum(after[:4]) - sum(before[:4])


def charsets(sizes: Sizes) -> Iterator[Figure]:
    """Pages of the book in the charsets of their languages, none of them declared."""
    pages = [
        (_undeclared(page), charset)
        for locale, names in CHARSETS.items()
        for page in _pages_of(locale, sizes.pages // 24 or 1)
        for charset in names
    ]
    right = Counter(
        charset
        for page, charset in pages
        if (data := page.encode(charset, "xmlcharrefreplace"))
        and decode_page(data) == data.decode(charset)
    )
    asked = Counter(charset for _, charset in pages)
    share = right.total() / len(pages)
    yield Figure(
        f"right of {len(pages)} pages in {len(asked)} charsets that none declares",
        f">= {LEAST_CHARSETS}",
        f"{share:.3f}",
        share >= LEAST_CHARSETS,
        {"right": {name: f"{right[name]} of {asked[name]}" for name in asked}},
    )


def _pages_of(locale: str, number: int) -> list[str]:
    """The longest of its pages."""
    found = sorted((book_pages() / locale).glob("*.html"), key=lambda path: -path.stat().st_size)
    return [path.read_text(encoding="utf-8") for path in found[:number]]


def _undeclared(page: str) -> str:
    return _DECLARATION.sub("", page)


def stop_lists(sizes: Sizes) -> Iterator[Figure]:
    """What jusText keeps of pages in some languages, here and by itself."""
    from justext import get_stoplist, justext

    extract = make_extractor("justext", {})
    kept = {}
    differing = 0
    for locale, (language, name) in STOP_LISTS.items():
        shares = []
        for page in _pages_of(locale, sizes.pages // 24 or 1):
            text = extract(page, language)
            alone = [
                one.text for one in justext(page, get_stoplist(name)) if not one.is_boilerplate
            ]
            differing += text != "\n\n".join(alone)
            shares.append(_share_kept(page, text))
        kept[language] = round(mean(shares), 3)
    yield Figure(
        "pages of which jusText keeps something else than it does alone",
        "0",
        f"{differing} (kept of paragraphs: {', '.join(f'{k} {v:.2f}' for k, v in kept.items())})",
        differing == 0,
        {"kept": kept},
    )


def _share_kept(page: str, text: str) -> float:
    """The share of the words in its paragraphs that are in the text."""
    wanted = Counter(" ".join(_TAG.sub(" ", one) for one in _PARAGRAPH.findall(page)).split())
    return (wanted & Counter(text.split())).total() / max(1, wanted.total())


ROWS: dict[str, Row[Sizes]] = {
    "pages": extraction,
    "archives": archives,
    "charsets": charsets,
    "stop_lists": stop_lists,
}

if __name__ == "__main__":
    sys.exit(run_rows("html", __doc__, ROWS, Sizes(), QUICK))
