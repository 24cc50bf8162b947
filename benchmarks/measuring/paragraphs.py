"""Real paragraphs whose language is known: the translations of one book in a Debian package."""

import html
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from measuring.peers import CACHE, PeerMissingError

PACKAGE = "debian-handbook"
OF_EACH = 150
"""A language of which the book has fewer is left out."""

SHORTEST = 80

_PARAGRAPH = re.compile(r'<div class="para">(.*?)</div>', re.DOTALL)
_TAG = re.compile(r"<[^>]+>")
_CODES = {"nb": "no", "nn": "no"}
_SOURCE = "en-US"


class Paragraph(NamedTuple):
    """A paragraph and the language that its folder is named for."""

    text: str
    language: str


def paragraphs(of_each: int = OF_EACH) -> list[Paragraph]:
    """As many of each language, those left out that nobody has translated."""
    books = _books(pages())
    source = books.pop(_SOURCE)
    chosen = [*_chosen("en", [text for text in source if len(text) >= SHORTEST], of_each)]
    for name, texts in sorted(books.items()):
        chosen += _chosen(language_of(name), _translated(texts, source), of_each)
    return chosen


def language_of(locale: str) -> str:
    """The code that stages use for the language of a locale such as `pt_BR`."""
    language = re.split("[-_]", locale)[0]
    return _CODES.get(language, language)


def pages() -> Path:
    """The folder with a folder of pages for each language."""
    return unpacked(PACKAGE) / "usr" / "share" / "doc" / PACKAGE / "html"


def unpacked(package: str) -> Path:
    """The files of a Debian package; fetched once."""
    folder = CACHE / package
    if (folder / "usr").is_dir():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    _run(["apt-get", "download", package], folder)
    [archive] = folder.glob("*.deb")
    _run(["dpkg-deb", "--extract", archive.name, "."], folder)
    archive.unlink()
    return folder


def _run(command: list[str], folder: Path) -> None:
    try:
        subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        said = (getattr(error, "stderr", "") or str(error)).strip().splitlines()[-1]
        raise PeerMissingError(f"{' '.join(command)}: {said}") from None


def _books(pages: Path) -> dict[str, list[str]]:
    """All paragraphs of each language, in the same order: translations keep the pages."""
    return {
        folder.name: [
            " ".join(html.unescape(_TAG.sub(" ", found)).split())
            for page in sorted(folder.glob("*.html"))
            for found in _PARAGRAPH.findall(page.read_text(encoding="utf-8"))
        ]
        for folder in sorted(pages.iterdir())
        if folder.is_dir() and any(folder.glob("*.html"))
    }


def _translated(texts: list[str], source: list[str]) -> list[str]:
    untranslated = set(source)
    return [
        text
        for text, original in zip(texts, source, strict=True)
        if len(text) >= SHORTEST and text not in untranslated and differs(text, original)
    ]


def differs(text: str, original: str) -> bool:
    """Whether less than 40 % of the words stand in the English paragraph too: names, commands."""
    here, there = set(text.split()), set(original.split())
    return len(here & there) < 0.4 * max(1, min(len(here), len(there)))


def _chosen(language: str, texts: list[str], number: int) -> Iterator[Paragraph]:
    """Paragraphs from all over the book; none where there are too few of them."""
    different = list(dict.fromkeys(texts))
    if len(different) >= OF_EACH:
        for place in range(number):
            yield Paragraph(different[place * len(different) // number], language)
