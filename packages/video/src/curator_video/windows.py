"""Windows: parts of a clip that are captioned separately."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self


@dataclass(frozen=True)
class Window:
    """Consecutive pictures of a clip, from `start_frame` up to but excluding `end_frame`.

    Frame numbers count from the clip's first picture at the frame rate of its video; `start` and
    `end` are seconds of the video. The keys of `captions` are the stages' caption fields.
    """

    start_frame: int
    end_frame: int
    start: float
    end: float
    captions: Mapping[str, str] = field(default_factory=dict)

    def with_caption(self, name: str, text: str) -> Self:
        return replace(self, captions={**self.captions, name: text})

    def as_dict(self) -> dict[str, Any]:
        """Return the position and the captions in one flat dictionary."""
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
    """Split into windows of `frames` pictures; the last one takes a rest below `remainder`."""
    count = max(1, round((end - start) * fps))
    edges = list(range(0, count, frames))
    if len(edges) > 1 and count - edges[-1] < remainder:
        edges.pop()
    places = zip(edges, [*edges[1:], count], strict=True)
    made = [
        Window(first, last, round(start + first / fps, 6), round(start + last / fps, 6))
        for first, last in places
    ]
    made[-1] = replace(made[-1], end=end)  # a variable frame rate must not move the end
    return made
