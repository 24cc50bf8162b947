"""The raw corpus as files: what is in it, in which shares, and where it is damaged."""

import gzip
import json
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from corpus.drawing import Dice
from corpus.pages import Pages
from corpus.vocabulary import ENGLISH

SHARES = {
    "good page": 46,
    "exact duplicate": 7,
    "near duplicate": 8,
    "other language": 9,
    "short page": 3,
    "script required": 2,
    "navigation": 3,
    "keyword spam": 3,
    "symbol soup": 2,
    "tag cloud": 2,
    "lorem ipsum": 2,
    "cookie notice": 2,
    "repeated lines": 3,
    "figures": 2,
    "link list": 2,
    "codes": 1,
    "shouting": 1,
    "blocked site": 2,
}
"""How many of a hundred documents are of each kind. The field `planted` names it."""

BLOCKED = ("casino-gold.example", "adult-videos.example")
EDITION = 1  # counts up when the same arguments make another corpus
FILES = 12


def documents(number: int, seed: int = 1) -> Iterator[dict[str, str]]:
    """Raw documents, the same ones for the same arguments on every machine."""
    dice = Dice(f"{EDITION}/{seed}")
    pages = Pages(dice)
    lots = [kind for kind, share in SHARES.items() for _ in range(share)]
    seen: list[str] = []
    for index in range(number):
        kind = dice.one_of(lots)
        if kind.endswith("duplicate") and not seen:
            kind = "good page"
        text = _text(kind, dice, pages, seen)
        if kind == "good page":
            seen.append(text)
        yield {**_origin(kind, index, dice), "text": text, "planted": kind}


def _text(kind: str, dice: Dice, pages: Pages, seen: list[str]) -> str:
    if kind == "exact duplicate":
        return dice.one_of(seen)
    if kind == "near duplicate":
        return pages.edited(dice.one_of(seen))
    return pages.write(kind)


def _origin(kind: str, index: int, dice: Dice) -> dict[str, str]:
    word = dice.one_of(ENGLISH["nouns"])
    domain = f"{word}-{dice.one_of(ENGLISH['nouns'])}.example"
    if kind == "blocked site":
        domain = dice.one_of(BLOCKED)
    month, day, hour = dice.between(1, 12), dice.between(1, 28), dice.below(24)
    return {
        "url": f"https://www.{domain}/{word}/{index}",
        "domain": domain,
        "timestamp": f"2024-{month:02d}-{day:02d}T{hour:02d}:00:00Z",
    }


def make(folder: Path, total: int = 8000, seed: int = 1) -> bool:
    """Write the corpus into `folder`; False where the very same one is there already."""

    def write() -> None:
        lines = [json.dumps(one, ensure_ascii=False) for one in documents(total, seed)]
        for number in range(FILES):
            _write(folder, number, lines[number::FILES])

    return make_once(folder, {"edition": EDITION, "documents": total, "seed": seed}, write)


def make_once(folder: Path, facts: dict[str, object], write: Callable[[], None]) -> bool:
    """Write into an empty folder, unless what is there was made with the same facts."""
    label = json.dumps(facts)
    place = folder / "label.json"
    if place.is_file() and place.read_text() == label:
        return False
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    write()
    place.write_text(label)  # last, so that half a corpus is none
    return True


def _write(folder: Path, number: int, lines: list[str]) -> None:
    """One file; some are compressed, and in some the crawler died in the middle of a line."""
    if number % 3 == 0:
        middle = len(lines) // 2
        lines = [*lines[:middle], lines[middle][: len(lines[middle]) // 2], *lines[middle:]]
    raw = "".join(f"{line}\n" for line in lines).encode()
    name = f"crawl-{number:02d}.jsonl"
    if number % 4 == 3:
        (folder / f"{name}.gz").write_bytes(gzip.compress(raw, compresslevel=5, mtime=0))
    else:
        (folder / name).write_bytes(raw)


if __name__ == "__main__":
    make(Path(sys.argv[1]))
