"""How much work each figure of the Ray Data and actor-pool executors is measured on."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Sizes:
    rounds: int = 3
    mixed: int = 600
    cold: int = 10
    flow_gb: float = 10.0
    store_gb: float = 1.0


QUICK = Sizes(rounds=1, mixed=60, flow_gb=1.0, store_gb=0.3)
