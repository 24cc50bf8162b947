"""On how much curator-video is measured."""

from dataclasses import dataclass
from pathlib import Path

from measuring.films import film_file


@dataclass(frozen=True)
class Sizes:
    seconds: float = 60.0
    width: int = 1280
    height: int = 720
    rounds: int = 3
    films: int = 8
    """Of thirty seconds, for two workers."""
    hard: int = 6
    mixed: int = 4
    shot_seconds: float = 30.0
    times: int = 20
    """How much longer the long video is."""

    @property
    def film(self) -> Path:
        return film_file(self.seconds, (self.width, self.height))


QUICK = Sizes(4.0, 320, 256, 1, 2, 1, 1, 8.0, 3)
