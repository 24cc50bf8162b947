"""Web-like pages with word frequencies of real text, the same for a number and a seed.

No words are downloaded: the commonest are English ones, all others are made of syllables, and each
is drawn as often as its rank in a Zipf-Mandelbrot distribution says. Every tenth page is one of
those that rules are made for, and one in eight is in another script or language.
"""

import gzip
import json
import random
from collections.abc import Callable, Iterator
from itertools import accumulate, islice
from pathlib import Path
from typing import Any

from measuring.peers import CACHE

VERSION = 1
FILES = 8
SEED = 7

_WORDS = 40_000
_SHIFT, _SLOPE = 2.7, 1.07

# ruff: noqa: SIM905 - words read better as words
_COMMON = """the of and to a in is that for it was on with as be by at this from or an are have not
but had his they which you were all her she there would their we him been has when who will more no
if out so said what up its about into than them can only other new some could time these two may
then do first any my now such like our over man me even most made after also did many before must
through years where much your way well down should because each just those people how too little
state good very make world still see own men work long here get both between life being under never
day same another know while last might us great old year off come since against go came right used
take three""".split()
_ONSETS = "b bl br c ch cl cr d dr f fl fr g gl gr h j k l m n p pl pr qu r s sc sh sl sp st str t th tr v w".split()  # noqa: E501
_RIMES = "a ack ain al am an ance ar ard ase at ate ave ay eal ear ed ell en ent er est ice ide ight il in ine ing ion is ist it ite ity ive o ode ol on ore ous ow u ule un ure us y".split()  # noqa: E501
_OTHERS = {
    "de": ("bdfghklmnprstvwz", "aeiouäöü", " "),
    "fr": ("bcdfgjlmnprstv", "aeiouéèà", " "),
    "es": ("bcdfglmnprstvz", "aeiouáéíñ", " "),
    "ru": ("бвгджзклмнпрстфхц", "аеиоуыэюя", " "),
    "zh": ("的一是不了人我在有他这中大来上国个到说们为子和你地出道也时年得就那要下以生", "", ""),
}
_AROUND = (
    "Home | News | About us | Contact", "Skip to content", "Follow us on social media",
    "This site uses cookies to make your visit better.", "Privacy policy | Terms of use",
    "Read more...", "You need JavaScript to see the comments", "© 2024. All rights reserved.",
    "Add to basket", "Previous page", "Next page", "Written by the editors on March 3, 2021",
    "Leave a reply", "More of this", "Advertisement", "Sign in", "Tags: town, weather, events",
)  # fmt: skip


class Vocabulary:
    """Words, each as likely as its rank says."""

    def __init__(self, dice: random.Random, words: list[str]) -> None:
        self._dice = dice
        self._words = words
        weights = (1 / (rank + _SHIFT) ** _SLOPE for rank in range(1, len(words) + 1))
        self._sums = list(accumulate(weights))

    def draw(self, number: int) -> list[str]:
        return self._dice.choices(self._words, cum_weights=self._sums, k=number)


class Author:
    """Writes pages."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.english = Vocabulary(self.dice, _english(self.dice))
        self.others = {name: self._other(name) for name in _OTHERS}

    def page(self) -> str:
        draw = self.dice.random()
        if draw < 0.1:
            return self.dice.choice(_BAD)(self)
        length = min(max(int(self.dice.lognormvariate(5.85, 0.85)), 60), 12_000)
        if draw < 0.22:
            name = self.dice.choice(list(_OTHERS))
            return "\n".join(self.paragraphs(length, self.others[name], _OTHERS[name][2]))
        paragraphs = self.paragraphs(length, self.english)
        if self.dice.random() < 0.5:
            head = self.dice.choices(_AROUND, k=self.dice.randint(1, 5))
            paragraphs = [*head, *paragraphs, *self.dice.choices(_AROUND, k=3)]
        return ("\n\n" if self.dice.random() < 0.3 else "\n").join(paragraphs)

    def paragraphs(self, words: int, vocabulary: Vocabulary, space: str = " ") -> list[str]:
        topic = vocabulary.draw(40)
        phrase = vocabulary.draw(3)
        found: list[str] = []
        sentences: list[str] = []
        while words > 0:
            sentence = vocabulary.draw(min(max(round(self.dice.gauss(18, 7)), 5), 45))
            for place in range(len(sentence)):
                if self.dice.random() < 0.12:
                    sentence[place] = self.dice.choice(topic)
            if self.dice.random() < 0.1:
                sentence[2:2] = phrase
            words -= len(sentence)
            sentences.append(self._ended(sentence, space))
            if self.dice.random() < 0.25:
                found.append(space.join(sentences))
                sentences = []
        return [*found, space.join(sentences)] if sentences else found

    def _ended(self, words: list[str], space: str) -> str:
        if not space:
            return "".join(words) + "。"
        if self.dice.random() < 0.35 and len(words) > 8:
            words[4] += ","
        if self.dice.random() < 0.06:
            words[-1] += f" ({self.dice.randint(1, 2030)})"
        text = " ".join(words)
        return text[0].upper() + text[1:] + self.dice.choice("......!?")

    def _other(self, name: str) -> Vocabulary:
        letters, vowels, _ = _OTHERS[name]
        if not vowels:
            return Vocabulary(self.dice, list(letters))
        choose = self.dice.choice
        words = dict.fromkeys(
            "".join(choose(letters) + choose(vowels) for _ in range(self.dice.randint(1, 4)))
            for _ in range(15_000)
        )
        return Vocabulary(self.dice, sorted(words, key=len))

    # What rules are made for

    def short(self) -> str:
        return " ".join(self.english.draw(self.dice.randint(3, 40))) + "."

    def repeated_lines(self) -> str:
        line = " ".join(self.english.draw(9)) + "."
        return "\n".join([line] * self.dice.randint(20, 60) + self.paragraphs(80, self.english))

    def hashtags(self) -> str:
        return " ".join(f"#{word}" for word in self.english.draw(200))

    def bullets(self) -> str:
        lines = range(self.dice.randint(60, 160))
        return "\n".join("- " + " ".join(self.english.draw(3)) for _ in lines)

    def numbers(self) -> str:
        drawn = [str(self.dice.randrange(10**6)) for _ in range(300)]
        return " ".join([*drawn, *self.english.draw(60)])

    def teasers(self) -> str:
        return "\n".join(" ".join(self.english.draw(10)) + "..." for _ in range(40))

    def script(self) -> str:
        code = [f"  let item{number} = {{ size: {number} }};" for number in range(50)]
        return "\n".join([*self.paragraphs(100, self.english), "function main() {", *code, "}"])

    def placeholder(self) -> str:
        return "\n".join(["Lorem ipsum dolor sit amet.", *self.paragraphs(200, self.english)])

    def repeated_words(self) -> str:
        phrase = self.english.draw(6)
        words = [word for _ in range(60) for word in (*phrase, *self.english.draw(4))]
        return " ".join(words) + "."


_BAD: tuple[Callable[[Author], str], ...] = (
    Author.short, Author.repeated_lines, Author.hashtags, Author.bullets, Author.numbers,
    Author.teasers, Author.script, Author.placeholder, Author.repeated_words,
)  # fmt: skip


def _english(dice: random.Random) -> list[str]:
    """Real words first, then made ones, the shorter ones commoner."""
    made: dict[str, None] = dict.fromkeys(_COMMON)
    while len(made) < _WORDS:
        syllables = 1 + min(3, int(len(made) / _WORDS * 3 + dice.random()))
        word = "".join(dice.choice(_ONSETS) + dice.choice(_RIMES) for _ in range(syllables))
        made[word] = None
    return list(made)


def pages(number: int, seed: int = SEED) -> Iterator[dict[str, Any]]:
    author = Author(seed)
    for place in range(number):
        url = f"https://www.{author.english.draw(1)[0]}{place % 997}.example/{place}"
        yield {"id": f"d{place:07d}", "text": author.page(), "url": url}


def corpus(number: int, files: int = FILES) -> Path:
    """A folder of jsonl.gz with so many pages, made when it is first asked for."""
    folder = CACHE / f"web-pages-{VERSION}-{number}-{files}"
    if not (folder / "ready").exists():
        write(pages(number), folder, number, files)
        (folder / "ready").touch()
    return folder


def write(records: Iterator[dict[str, Any]], folder: Path, number: int, files: int) -> None:
    """Records in files of about equal length."""
    folder.mkdir(parents=True, exist_ok=True)
    each = -(-number // files)
    for place in range(files):
        name = folder / f"{place:03d}.jsonl.gz"
        with gzip.open(name, "wt", compresslevel=6, encoding="utf-8") as out:
            for record in islice(records, each):
                out.write(json.dumps(record, ensure_ascii=False) + "\n")
