"""Sizes: on how much audio each row is measured."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Sizes:
    """How much work each row is measured on; each number is an option of the command."""

    rounds: int = 3
    files: int = 24
    seconds: int = 20
    """Of each file that is loaded, or searched for speech."""

    pairs: int = 1_000
    prompts: int = 60
    minutes: int = 90
    """Of recordings that the whole recipe is measured on, with one worker and with two."""

    long_hours: float = 10.0
    """How long the one long file is."""


QUICK = Sizes(rounds=1, files=3, seconds=4, pairs=20, prompts=4, minutes=1, long_hours=0.05)
