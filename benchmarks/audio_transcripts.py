"""Transcripts: error rates against jiwer's."""

import random
from collections.abc import Iterator

import jiwer
from audio_sizes import Sizes
from curator_audio.transcripts.error_rates import character_error_rate, word_error_rate
from measuring.figures import Figure

_WORDS = (
    *(f"w{n}" for n in range(40)),
    "the",
    "there",
    "their",
    "Zürich",
    "東京",
    "don't",
    "naïve",
)


def error_rates(sizes: Sizes) -> Iterator[Figure]:
    chance = random.Random(0)
    pairs = [
        tuple(" ".join(chance.choices(_WORDS, k=chance.randint(1, 60))) for _ in range(2))
        for _ in range(sizes.pairs)
    ]
    for name, ours, theirs in (
        ("word", word_error_rate, jiwer.wer),
        ("character", character_error_rate, jiwer.cer),
    ):
        same = sum(ours(said, heard) == theirs(said, heard) for said, heard in pairs)
        what = f"{name} error rates of random pairs, identical with jiwer's"
        yield Figure(what, f"{len(pairs):,}", f"{same:,}", same == len(pairs))
