"""Windows: parts of a clip that are described each by itself."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self


@dataclass(frozen=True)
class Window:
    """Pictures of a clip in a row, from `start_frame` up to, and without, `end_frame`.

    Both count from the clip's first picture, by the frame rate of its video; `start` and `end` are
    seconds of the video. Captions stand under the names that stages were told to give them.
    """

    start_frame: int
    end_frame: int
    start: float
    end: float
    captions: Mapping[str, str] = field(default_factory=dict)

    def with_caption(self, name: str, text: str) -> Self:
        return replace(self, captions={**self.captions, name: text})

    def as_dict(self) -> dict[str, Any]:
        """Its place and its captions side by side."""
        place = asdict(self)
        return {**place.pop("captions"), **place}

    @classmethod
    def from_dict(cls, known: Mapping[str, Any]) -> Self:
        names = ("start_frame", "end_frame", "start", "end")
        captions = {name: text for name, text in known.items() if name not in names}
        return cls(**{name: known[name] for name in names}, captions=captions)


def windows_between(
    start: float, end: float, fps: float, frames: int, remainder: int
) -> list[Window]:
    """Windows of so many pictures; a rest of less than `remainder` belongs to the last of them."""
    count = max(1, round((end - start) * fps))
    edges = list(range(0, count, frames))
    if len(edges) > 1 and count - edges[-1] < remainder:
        edges.pop()
    places = zip(edges, [*edges[1:], count], strict=True)
    made = [
        Window(first, last, round(start + first / fps, 6), round(start + last / fps, 6))
        for first, last in places
    ]
    made[-1] = replace(made[-1], end=end)  # a frame rate that varies does not move the end
    return made
