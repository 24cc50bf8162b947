"""Dice that fall the same way on every machine, and sentences made with them."""

from bisect import bisect
from collections.abc import Sequence
from itertools import accumulate
from random import Random

from corpus.vocabulary import ENGLISH, FOREIGN


class Dice:
    """Draws with `Random.random()` alone: only its values does Python promise never to change."""

    def __init__(self, seed: str) -> None:
        self.number = Random(seed).random

    def below(self, end: int) -> int:
        return int(self.number() * end)

    def between(self, least: int, most: int) -> int:
        return least + self.below(most - least + 1)

    def one_of(self, things: Sequence[str]) -> str:
        return things[self.below(len(things))]


class Words:
    """Words drawn as Zipf found them: the second half as often as the first, the third a third."""

    def __init__(self, words: Sequence[str], dice: Dice, flatness: int = 2) -> None:
        self._words = words
        self._number = dice.number
        shares = [1 / (rank + flatness) for rank in range(len(words))]
        self._steps = list(accumulate(shares))
        self._total = self._steps[-1]

    def __call__(self) -> str:
        # A draw may equal the total where the last digit is rounded up.
        place = bisect(self._steps, self._number() * self._total)
        return self._words[min(place, len(self._words) - 1)]


class English:
    """Sentences with the grammar of English and the sense of a dream."""

    def __init__(self, dice: Dice) -> None:
        self._dice = dice
        self._noun = Words(ENGLISH["nouns"], dice, flatness=12)
        self._adjective = Words(ENGLISH["adjectives"], dice, flatness=8)
        self._verb = Words(ENGLISH["verbs"], dice, flatness=6)
        self._verb_to = Words(ENGLISH["verbs after to"], dice, flatness=6)
        self._adverb = Words(ENGLISH["adverbs"], dice)
        self._preposition = Words(ENGLISH["prepositions"], dice)
        self._determiner = Words(ENGLISH["determiners"], dice, flatness=4)
        self._joint = Words(ENGLISH["joints"], dice)

    def noun(self) -> str:
        return self._noun()

    def thing(self) -> str:
        """`the old bridge`."""
        rest = self._noun()
        if self._dice.number() < 0.4:
            rest = f"{self._adjective()} {rest}"
        determiner = self._determiner()
        return f"an {rest}" if determiner == "a" and rest[0] in "aeiou" else f"{determiner} {rest}"

    def who(self) -> str:
        chance = self._dice.number()
        if chance < 0.3:
            return self._dice.one_of(ENGLISH["pronouns"])
        if chance < 0.45:
            return self._dice.one_of(ENGLISH["names"])
        return self.thing()

    def clause(self) -> str:
        """`she carefully found the letter in the garden`."""
        chance = self._dice.number()
        if chance < 0.25:
            said = f"{self.who()} {self._adverb()} {self._verb()} {self.thing()}"
        elif chance < 0.45:
            said = f"{self.who()} wanted to {self._verb_to()} {self.thing()} with {self.thing()}"
        elif chance < 0.6:
            said = f"{self.who()} knew that {self.thing()} would have to be {self._adjective()}"
        else:
            said = f"{self.who()} {self._verb()} {self.thing()}"
        if self._dice.number() < 0.6:
            said += f" {self._preposition()} {self.thing()}"
        return said

    def sentence(self) -> str:
        said = self.clause()
        if self._dice.number() < 0.45:
            said += f", {self._joint()} {self.clause()}"
        mark = "?" if self._dice.number() < 0.06 else "."
        return said[0].upper() + said[1:] + mark

    def paragraph(self) -> str:
        return " ".join(self.sentence() for _ in range(self._dice.between(2, 6)))

    def title(self) -> str:
        return f"{self.thing()} and {self.thing()}".title()


class Foreign:
    """Sentences of another language: its words in their frequencies, without its grammar."""

    def __init__(self, language: str, dice: Dice) -> None:
        self._dice = dice
        self._words = Words(FOREIGN[language], dice, flatness=8)
        self._space, self._stop = ("", "。") if language == "zh" else (" ", ".")

    def sentence(self) -> str:
        words = [self._words() for _ in range(self._dice.between(6, 18))]
        said = self._space.join(words)
        return said[0].upper() + said[1:] + self._stop

    def paragraph(self) -> str:
        return self._space.join(self.sentence() for _ in range(self._dice.between(2, 6)))
