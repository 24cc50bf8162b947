"""How much work each figure of the streaming executor is measured on."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Sizes:
    rounds: int = 3
    mixed: int = 600
    cold: int = 10
    tiny: int = 5000
    tiny_one_by_one: int = 400
    """For peers as they come: a hundred a second are plenty for a rate."""

    jump: int = 2400
    memory: tuple[int, ...] = (200, 1000, 3000)
    spill_gb: float = 20.0
    deaths: int = 1200
    pages_mb: float = 80.0
    page_files: int = 64
    faults: int = 200
    give_up_s: float = 30.0
    """Until a peer that never ends is ended."""

    big_simulation: bool = True


QUICK = Sizes(
    rounds=1,
    mixed=60,
    tiny=500,
    tiny_one_by_one=30,
    jump=1600,
    memory=(20, 60, 120),
    spill_gb=1.5,
    deaths=500,
    pages_mb=4.0,
    page_files=16,
    faults=40,
    give_up_s=15.0,
    big_simulation=False,
)
