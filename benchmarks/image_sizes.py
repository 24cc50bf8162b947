"""On how much curator-image is measured."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Sizes:
    samples: int = 3000
    """Of a tar file."""
    photographs: int = 12
    """That are decoded to a size."""
    pictures: int = 105
    """Among which copies are looked for."""
    modelled: int = 32
    """That each model is shown."""
    shards: int = 8
    """For two workers."""
    each: int = 300
    """Pictures of a shard."""
    times: int = 20
    """How many times the shards for memory."""
    rounds: int = 7


QUICK = Sizes(200, 2, 12, 4, 2, 20, 4, 1)
