"""Clips as tasks: a span of a video, its measurements, and its encoded file once it is cut."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Self, TypeAlias
from uuid import NAMESPACE_URL, uuid5

from curator_core.model.tasks import Task

from curator_video.facts import VideoFacts
from curator_video.payloads import packed, unpacked
from curator_video.sources import VideoSource
from curator_video.videos import labels, source_facts, source_from
from curator_video.windows import Window

Score: TypeAlias = "float | int | str | bool | None"


@dataclass(frozen=True)
class Encoded:
    """A clip as a separate file, and the source span it actually covers."""

    content: bytes = field(repr=False)
    start: float
    end: float
    frames: int
    codec: str
    method: str
    extension: str = "mp4"
    audio: str | None = None
    """Codec of its sound."""

    changes: tuple[str, ...] = ()
    """Differences from the source, such as re-encoded or missing sound."""


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
    vectors: dict[str, tuple[float, ...]] = field(default_factory=dict, repr=False)
    windows: tuple[Window, ...] = field(default=(), repr=False)
    preview: bytes | None = field(default=None, repr=False)


@dataclass
class Clip(Task[Span]):
    """A span of a video. Pictures are decoded on demand."""

    @property
    def clip_id(self) -> str:
        """Stable id: the same span of the same path always has the same id."""
        named = f"{self.data.source.path}_{float(self.data.start)}_{float(self.data.end)}"
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
        """The video and the span, for messages."""
        return f"{self.path}[{self.data.start:.2f}-{self.data.end:.2f} s]"

    @property
    def num_bytes(self) -> int:
        cut, preview = self.data.encoded, self.data.preview or b""
        return self.data.source.held_bytes + (len(cut.content) if cut else 0) + len(preview)

    @property
    def playing_ms(self) -> int:
        return round(1000 * self.duration)

    def identity(self) -> str:
        return self.place

    def with_scores(self, **scores: Score) -> Self:
        """Return the clip with more scores; decoded data stays cached."""
        return self._with(replace(self.data, scores={**self.data.scores, **scores}))

    def with_encoded(self, encoded: Encoded) -> Self:
        return self._with(replace(self.data, encoded=encoded))

    def with_vector(self, name: str, vector: Sequence[float]) -> Self:
        """Return the clip with an embedding, under the name of its output column."""
        vectors = {**self.data.vectors, name: tuple(vector)}
        return self._with(replace(self.data, vectors=vectors))

    def with_windows(self, windows: Iterable[Window]) -> Self:
        return self._with(replace(self.data, windows=tuple(windows)))

    def with_preview(self, preview: bytes) -> Self:
        return self._with(replace(self.data, preview=preview))

    def _with(self, span: Span) -> Self:
        changed = self.with_data(span)
        changed.derived = self.derived
        return changed

    def to_payload(self) -> bytes:
        """Serialize everything made so far, including files, so that a retry can skip work."""
        span = self.data
        cut = {} if span.encoded is None else dict(vars(span.encoded))
        file: bytes | None = cut.pop("content", None)
        known = {
            "start": span.start,
            "end": span.end,
            "number": span.number,
            "scores": span.scores,
            "vectors": span.vectors,
            "windows": [window.as_dict() for window in span.windows],
            "encoded": cut,
        }
        facts = {**source_facts(span.source), **labels(self), "facts": span.facts.as_dict()}
        return packed({**facts, "span": known}, span.source.content, file, span.preview)

    @classmethod
    def from_payload(cls, payload: bytes) -> Self:
        facts, [content, file, preview] = unpacked(payload)
        source, found = source_from(facts, content), VideoFacts.from_dict(facts["facts"])
        known = facts["span"]
        known["vectors"] = {name: tuple(one) for name, one in known["vectors"].items()}
        known["windows"] = tuple(map(Window.from_dict, known["windows"]))
        if cut := known["encoded"]:
            cut["changes"] = tuple(cut["changes"])
        known["encoded"] = Encoded(file or b"", **cut) if cut else None
        span = Span(source, found, **known, preview=preview)
        return cls(span, facts["dataset_name"], facts["metadata"])
