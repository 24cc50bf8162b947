"""Corpora with duplicates that are known: pages of which some are repeated letter by letter."""

import gzip
import json
import random
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count, islice
from pathlib import Path
from shutil import rmtree
from typing import Any

from measuring.peers import CACHE
from measuring.web_pages import FILES, corpus

MOST_PAGES = 40_000
SHARE = 0.12
SEED = 11
VERSION = 1


def with_exact_copies(documents: int) -> tuple[Path, int]:
    """A folder of plain JSON Lines, and how many different texts are in it."""
    pages = corpus(min(documents, MOST_PAGES))
    folder = CACHE / f"exact-{VERSION}-{documents}"
    told = folder / "different.txt"
    if not told.exists():
        rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        told.write_text(str(_write(pages, folder, documents)))
    return folder, int(told.read_text())


def _write(pages: Path, folder: Path, documents: int) -> int:
    """Copies stand among the originals, in any file, with ids of their own."""
    dice = random.Random(SEED)
    texts: list[str] = []
    with ExitStack() as stack:
        outs = [
            stack.enter_context(open(folder / f"{place:02d}.jsonl", "w")) for place in range(FILES)
        ]
        for number, record in enumerate(islice(_records(pages), documents)):
            if texts and dice.random() < SHARE:
                record["text"] = dice.choice(texts)
            texts.append(record["text"])
            record["id"] = f"page-{number:08d}"
            outs[number % FILES].write(json.dumps(record, ensure_ascii=False) + "\n")
    return len(set(texts))


def _records(pages: Path) -> Iterator[dict[str, Any]]:
    """All pages, and then all of them again with other beginnings, without end."""
    for times in count():
        for path in sorted(pages.glob("*.gz")):
            with gzip.open(path, "rt") as lines:
                for line in lines:
                    record = json.loads(line)
                    if times:
                        record["text"] = f"{times}. {record['text']}"
                    yield record
