"""On how much deduplication is measured."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Sizes:
    """How much work each row is measured on; each number is an option of the command."""

    rounds: int = 3
    exact: int = 480_000
    """Documents, as are all numbers that are named for a row alone."""

    exact_few: int = 160_000
    """Once more on these, where starting up weighs more."""

    fuzzy: int = 40_000
    sample: int = 1500
    """For datatrove with its own tokenizer, which is slow."""

    start: int = 100
    """Whose time is that of starting, which is not counted for that sample."""

    recall: int = 60_000
    seeds: int = 6
    """So many that chance moves what is compared by a third of a point."""

    labelled: int = 20_000
    """Items, of which a third have copies."""

    memory: int = 4000
    """Twenty times as many are compared with these."""

    edges: int = 5_000_000
    pairs: int = 4000
    """Of documents whose similarity is known, for each similarity."""

    passages: int = 20_000
    sentences: int = 8000
    vectors: int = 100_000
    dimension: int = 384
    clusters: int = 100
    partitions: int = 4


QUICK = Sizes(
    rounds=1,
    exact=800,
    exact_few=200,
    fuzzy=800,
    sample=200,
    start=50,
    recall=1000,
    seeds=1,
    labelled=400,
    memory=200,
    edges=100_000,
    pairs=300,
    passages=400,
    sentences=200,
    vectors=4000,
    dimension=32,
    clusters=8,
)
