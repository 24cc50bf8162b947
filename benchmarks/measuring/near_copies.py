"""Corpora with near duplicates that are known: pages, some of them changed a little or a lot.

For each pair the Jaccard similarity of its runs of five words is written down.
"""

import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree

from measuring.peers import CACHE
from measuring.web_pages import FILES, Author

VERSION = 1
SEED = 5
RUN = 5
LEAST, MOST = 0.45, 1.0


@dataclass(frozen=True)
class Pair:
    original: str
    copy: str
    jaccard: float


@dataclass(frozen=True)
class Corpus:
    """A folder of plain JSON Lines, and what is planted in it."""

    folder: Path
    documents: int

    @property
    def pairs(self) -> list[Pair]:
        lines = (self.folder / "pairs.txt").read_text().splitlines()
        return [Pair(*line.split()[:2], float(line.split()[2])) for line in lines]  # type: ignore[call-arg]


def with_near_copies(
    documents: int, share: float, words: int | None = None, files: int = FILES
) -> Corpus:
    """So many documents, of which `share` are changed copies of one each, in no order that tells;
    of about so many words, or like pages of the web."""
    name = f"near-{VERSION}-{documents}-{share:g}-{words or 'web'}"
    folder = CACHE / (name if files == FILES else f"{name}-{files}")
    if not (folder / "pairs.txt").exists():
        rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        _write(folder, documents, share, words, files)
    return Corpus(folder, documents)


def _write(folder: Path, documents: int, share: float, words: int | None, files: int) -> None:
    dice = random.Random(SEED)
    author = Author(SEED)
    pairs, records = [], []
    copies = int(documents * share)
    for number in range(documents - copies):
        text = _page(author, words)
        records.append((f"page-{number}", text))
        if number < copies:
            copy = _changed(text, author, dice)
            records.append((f"copy-{number}", copy))
            pairs.append(f"page-{number} copy-{number} {jaccard(text, copy):.4f}")
    dice.shuffle(records)
    for place in range(files):
        with open(folder / f"{place:02d}.jsonl", "w", encoding="utf-8") as out:
            for key, text in records[place::files]:
                out.write(json.dumps({"id": key, "text": text}, ensure_ascii=False) + "\n")
    (folder / "pairs.txt").write_text("\n".join(pairs) + "\n")


def _page(author: Author, words: int | None) -> str:
    if words is None:
        return author.page()
    return "\n".join(author.paragraphs(author.dice.randint(words // 2, 2 * words), author.english))


def _changed(text: str, author: Author, dice: random.Random) -> str:
    """Other words here and there, less text, more text, or the same text in another form."""
    wanted = dice.uniform(LEAST, MOST)
    kind = dice.randrange(8)
    if kind == 0:
        return text.upper() if dice.random() < 0.5 else re.sub(r"[.,!?]", "", text)
    if kind == 1:
        return text[: int(len(text) * wanted)]
    if kind == 2:
        more = author.paragraphs(int(len(text.split()) * (1 / wanted - 1)) + 1, author.english)
        return "\n".join([text, *more])
    untouched = 2 * wanted / (1 + wanted)
    rate = 1 - untouched ** (1 / RUN)
    parts = re.split(r"(\s+)", text)
    for place in range(0, len(parts), 2):
        if dice.random() < rate:
            parts[place] = author.english.draw(1)[0]
    return "".join(parts)


def jaccard(one: str, other: str) -> float:
    """As both peers take words: without case and punctuation."""
    ones, others = set(_runs(one)), set(_runs(other))
    return len(ones & others) / max(1, len(ones | others))


def _runs(text: str) -> Iterator[tuple[str, ...]]:
    words = re.sub(r"\d+", "0", re.sub(r"[^\w\s]", " ", text.lower())).split()
    return zip(*(words[place:] for place in range(RUN)), strict=False)
