"""Odd texts: what rules must survive, and must decide as their peers do."""

# ruff: noqa: SIM905 - words read better as words

import random
from collections.abc import Iterator

_WORDS = (
    *"the be to of and that have with a I aa aaa b ab ba cookie cookies use uses policy".split(),
    *"terms privacy lorem ipsum javascript JavaScript edit x1 42 3.14 ½ ² Ⅷ _ __ e-mail".split(),
    *"don't # ## • - -- ... … . , ; ! ? \" ' ( ) [1] [] [edit] [citation needed] [[1]]".split(),
    *"use[2]cookies { } _a a_ Straße ΣΟΦΟΣ İstanbul K ﬁ שלום עולם مرحبا हिन्दी है।".split(),
    *"你好。 世界\uff01 日本語 かな カナ ไทย 한국어 \u0301 e\u0301\u0301 \u200b \u200d".split(),
    *"\ufeff \x00 \x07 \x7f \ue000 \U0001f600 \U00020000 \ud800 \udfff".split(),
)
_PHRASES = (
    "terms of use", "privacy policy", "cookie policy", "uses cookies", "use of cookies",
    "use cookies", "lorem ipsum", "Lorem Ipsum dolor", "java script", "it needs JavaScript",
    "this is a line that is long enough to be one. And here is another! Is it so?",
    "[citation needed] of the [12] that have been with us to be.", "- a point of the list",
    "• another point", "and so on...", "and on…", "w" * 1001, "no end mark here at all",
)  # fmt: skip
_BREAKS = (
    "\n", "\n", "\n", "\n\n", "\n\n\n", "\n\n\n\n", " \n ", "\r\n", "\r", "\x0b", "\x0c", "\x1c",
    "\x1d", "\x1e", "\x1f", "\x85", "\u2028", "\u2029", "\t", " ", " ", " ", "\u00a0", "\u3000", "",
)  # fmt: skip


def odd_texts(number: int, seed: int = 1) -> Iterator[str]:
    """Texts of few words and phrases that repeat, broken in many ways; the same for a seed."""
    dice = random.Random(seed)
    fixed = ["", " ", "\n", "\n\n\n", "\x00", "\u3000\u2028", "a", "a\n\na", " a\n\na ", "#", "{"]
    yield from fixed[:number]
    for _ in range(number - len(fixed)):
        yield _text(dice)


def _text(dice: random.Random) -> str:
    words = dice.sample(_WORDS, dice.randint(1, 12))
    phrases = dice.sample(_PHRASES, dice.randint(1, 5))
    breaks = dice.sample(_BREAKS, dice.randint(1, 4))
    odd, broken = dice.random() ** 2, dice.random() ** 3
    parts = []
    for _ in range(dice.choice((3, 20, 80, 200, 500))):
        parts.append(_part(dice, words, phrases, odd))
        parts.append(dice.choice(breaks) if dice.random() < broken else " ")
    return "".join(parts)


def _part(dice: random.Random, words: list[str], phrases: list[str], odd: float) -> str:
    draw = dice.random()
    if draw < odd / 10:
        return dice.choice(phrases)
    if draw < odd:
        return dice.choice(words)
    if draw < 0.95:
        return "".join(dice.choices("abcdefghijklmnopqrstuvwxyz", k=dice.randint(1, 9)))
    return dice.choice(("the", "of", "with.", "that!", "have", "to", '"and"'))
