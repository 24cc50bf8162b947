"""Corpora in which every document says what it is a copy of, and look-alikes that are no copies.

`ordinary` has pages, some of which quote another at length. `templates` has pages such as those of
shops and forums, whose items differ in a part of their words only.
"""

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from measuring.peers import CACHE
from measuring.web_pages import Author

VERSION = 1
SEED = 11
FILES = 4
EDITED = 0.06
"""Up to this share of the words of a copy are others."""


@dataclass(frozen=True)
class Labelled:
    """A document, and the item it is a copy of."""

    item: str
    text: str


Maker = Callable[[int], Iterator[Labelled]]


def labelled_corpus(kind: str, items: int) -> Path:
    """A folder of JSON Lines with id, item and text."""
    folder = CACHE / f"labelled-{VERSION}-{kind}-{items}"
    if not (folder / "whole").exists():
        folder.mkdir(parents=True, exist_ok=True)
        records = list(MAKERS[kind](items))
        random.Random(SEED).shuffle(records)
        for place in range(FILES):
            with (folder / f"{place}.jsonl").open("w", encoding="utf-8") as out:
                for number in range(place, len(records), FILES):
                    one = records[number]
                    record = {"id": number, "item": one.item, "text": one.text}
                    out.write(json.dumps(record) + "\n")
        (folder / "whole").touch()
    return folder


def ordinary(items: int) -> Iterator[Labelled]:
    dice, author = random.Random(SEED), Author(SEED)
    for number in range(items):
        words = _words(author, dice.randint(80, 500))
        yield Labelled(f"page {number}", " ".join(words))
        if dice.random() < 0.3:
            for _ in range(dice.randint(1, 2)):
                yield Labelled(f"page {number}", _again(words, author, dice))
        if dice.random() < 0.2:
            quoted = int(len(words) * dice.uniform(0.3, 0.9))
            start = dice.randint(0, len(words) - quoted)
            own = _words(author, int(quoted * dice.uniform(0.4, 1.5)))
            place = dice.randint(0, len(own))
            text = [*own[:place], *words[start : start + quoted], *own[place:]]
            yield Labelled(f"quote {number}", " ".join(text))


def templates(items: int) -> Iterator[Labelled]:
    """A template for each 100 items, which is a fifth to four fifths of a page."""
    dice, author = random.Random(SEED), Author(SEED)
    for first in range(0, items, 100):
        share = dice.uniform(0.2, 0.8)
        template = [_words(author, dice.randint(10, 50)) for _ in range(dice.randint(4, 10))]
        for number in range(first, min(items, first + 100)):
            sizes = [int(len(part) * (1 - share) / share) for part in template]
            own = [_words(author, dice.randint(size // 2, size * 3 // 2)) for size in sizes]
            yield Labelled(f"item {number}", _filled(template, own, dice))
            if dice.random() < 0.3:
                for _ in range(dice.randint(1, 2)):
                    text = _filled(template, own, dice)
                    yield Labelled(f"item {number}", _again(text.split(), author, dice))


MAKERS: dict[str, Maker] = {"ordinary": ordinary, "templates": templates}


def _words(author: Author, number: int) -> list[str]:
    return list(author.english.draw(number))


def _filled(template: list[list[str]], own: list[list[str]], dice: random.Random) -> str:
    """A page, with a date and a price of today."""
    today = [["Updated", f"2026-{dice.randint(1, 12)}-{dice.randint(1, 28)}"],
             [f"{dice.randint(1, 999)}", "EUR"]]  # fmt: skip
    parts = [part for both in zip(template, own, strict=True) for part in both]
    return " ".join(word for part in [*today, *parts] for word in part)


def _again(words: list[str], author: Author, dice: random.Random) -> str:
    """The same page, met elsewhere: some words are others, or something is above and below it."""
    rate = EDITED * dice.random() ** 2
    edited = [author.english.draw(1)[0] if dice.random() < rate else word for word in words]
    frame = _words(author, int(len(words) * dice.choice([0, 0, 0.05, 0.1])))
    cut = dice.randint(0, len(frame))
    return " ".join([*frame[:cut], *edited, *frame[cut:]])
