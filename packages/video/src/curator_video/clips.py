"""Clips as tasks: a span of a video, what was measured of it, and its own bytes once it is cut."""

from dataclasses import dataclass, field, replace
from typing import Self, TypeAlias
from uuid import NAMESPACE_URL, uuid5

from curator_core.tasks import Task

from curator_video.facts import VideoFacts
from curator_video.payloads import packed, unpacked
from curator_video.sources import VideoSource
from curator_video.videos import labels, source_facts, source_from

Score: TypeAlias = "float | int | str | bool | None"


@dataclass(frozen=True)
class Encoded:
    """A clip as a file of its own, and the span of the source that is really in it."""

    content: bytes = field(repr=False)
    start: float
    end: float
    frames: int
    codec: str
    method: str
    extension: str = "mp4"


@dataclass(frozen=True)
class Span:
    """From `start` up to `end`, in seconds from the first picture of `source`."""

    source: VideoSource = field(repr=False)
    facts: VideoFacts
    start: float
    end: float
    number: int = 0
    scores: dict[str, Score] = field(default_factory=dict)
    encoded: Encoded | None = None


@dataclass
class Clip(Task[Span]):
    """A part of a video that is told apart from the rest. Pictures are decoded when asked for."""

    @property
    def clip_id(self) -> str:
        """The same for the same span of the same path, whoever asks."""
        named = f"{self.data.source.path}_{self.data.start}_{self.data.end}"
        return str(uuid5(NAMESPACE_URL, named))

    @property
    def path(self) -> str:
        return self.data.source.path

    @property
    def duration(self) -> float:
        return self.data.end - self.data.start

    @property
    def scores(self) -> dict[str, Score]:
        return self.data.scores

    @property
    def place(self) -> str:
        """Which part of which video, for messages."""
        return f"{self.path}[{self.data.start:.2f}-{self.data.end:.2f} s]"

    @property
    def num_bytes(self) -> int:
        cut = self.data.encoded
        return self.data.source.held_bytes + (len(cut.content) if cut else 0)

    def identity(self) -> str:
        return self.place

    def with_scores(self, **scores: Score) -> Self:
        """The same clip, of which more is known; what was decoded of it stays at hand."""
        changed = self.with_data(replace(self.data, scores={**self.data.scores, **scores}))
        changed.derived = self.derived
        return changed

    def with_encoded(self, encoded: Encoded) -> Self:
        changed = self.with_data(replace(self.data, encoded=encoded))
        changed.derived = self.derived
        return changed

    def to_payload(self) -> bytes:
        """Where it is and what is known of it; it is cut again rather than kept."""
        span = self.data
        known = {"start": span.start, "end": span.end, "number": span.number, "scores": span.scores}
        facts = {**source_facts(span.source), **labels(self), "facts": span.facts.as_dict()}
        return packed({**facts, "span": known}, span.source.content)

    @classmethod
    def from_payload(cls, payload: bytes) -> Self:
        facts, content = unpacked(payload)
        source, found = source_from(facts, content), VideoFacts.from_dict(facts["facts"])
        span = Span(source, found, **facts["span"])
        return cls(span, facts["dataset_name"], facts["metadata"])
