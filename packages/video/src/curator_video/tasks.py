"""Videos and clips as tasks."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self, TypeAlias
from uuid import NAMESPACE_URL, uuid5

from curator_core import CuratorError, Origin, Task

from curator_video.probing import VideoFacts, probe
from curator_video.source import ShardMember, VideoSource
from curator_video.thumbnails import encode_thumbnail

ScoreValue: TypeAlias = "float | int | str | bool | None"

_LENGTH = 8


@dataclass
class Video(Task[VideoSource]):
    """A video. The reader sets `facts`."""

    item_name = "video"

    facts: VideoFacts | None = None

    @classmethod
    def of(cls, path: str, content: bytes | None = None) -> Self:
        """Create a video that is not probed yet; the first stage that needs its facts probes it."""
        return cls(VideoSource(path, len(content or b""), content=content))

    def get_facts(self) -> VideoFacts:
        """Return the facts; probe now if they are not known yet."""
        return self.facts or probe(self.data)

    @property
    def path(self) -> str:
        return self.data.path

    @property
    def num_bytes(self) -> int:
        return self.data.held_bytes

    @property
    def playing_ms(self) -> int:
        return round(1000 * self.facts.duration) if self.facts else 0

    def describe_items(self) -> list[dict[str, Any]]:
        return [{"path": self.path, **_describe_facts(self.facts)}]

    def thumbnail(self, item: int) -> bytes | None:
        middle = self.facts.duration / 2 if self.facts else 0.0
        return _thumbnail_at(self.data, middle)

    def identity(self) -> str:
        return f"{self.data.path} {self.data.size} {self.data.version}"

    def origins(self) -> list[Origin]:
        return [Origin(self.data.path, f"{self.data.size}:{self.data.version}")]

    def to_payload(self) -> bytes:
        facts = None if self.facts is None else self.facts.as_dict()
        known = {**_source_fields(self.data), **_task_fields(self), "facts": facts}
        return _pack(known, self.data.content)

    @classmethod
    def from_payload(cls, payload: bytes) -> Self:
        facts, [content] = _unpack(payload)
        found = facts["facts"] and VideoFacts.from_dict(facts["facts"])
        return cls(_make_source(facts, content), facts["dataset_name"], facts["metadata"], found)


def _describe_facts(facts: VideoFacts | None) -> dict[str, Any]:
    if facts is None:
        return {}
    sound = f"{facts.audio.codec} {facts.audio.sample_rate} Hz" if facts.audio else "none"
    size = {"width": facts.width, "height": facts.height, "fps": round(facts.fps, 3)}
    return {"duration": round(facts.duration, 3), **size, "codec": facts.codec, "sound": sound}


def _thumbnail_at(source: VideoSource, time: float) -> bytes | None:
    try:
        return encode_thumbnail(source, time)
    except CuratorError:
        return None


def _task_fields(task: Task[Any]) -> dict[str, Any]:
    return {"dataset_name": task.dataset_name, "metadata": task.metadata}


def _source_fields(source: VideoSource) -> dict[str, Any]:
    shard_member = source.shard_member and [source.shard_member.path, source.shard_member.start]
    known = {"path": source.path, "size": source.size, "version": source.version}
    return {**known, "shard_member": shard_member}


def _make_source(facts: dict[str, Any], content: bytes | None) -> VideoSource:
    shard_member = ShardMember(*facts["shard_member"]) if facts["shard_member"] else None
    return VideoSource(
        facts["path"], facts["size"], facts["version"], content, shard_member=shard_member
    )


@dataclass(frozen=True)
class CaptionWindow:
    """Consecutive frames of a clip, from `start_frame` up to but excluding `end_frame`.

    Frame numbers count from the clip's first frame at the frame rate of its video; `start` and
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
        known = asdict(self)
        return {**known.pop("captions"), **known}

    @classmethod
    def from_dict(cls, known: Mapping[str, Any]) -> Self:
        names = ("start_frame", "end_frame", "start", "end")
        captions = {name: text for name, text in known.items() if name not in names}
        return cls(**{name: known[name] for name in names}, captions=captions)


@dataclass(frozen=True)
class EncodedClip:
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
class ClipSpan:
    """From `start` up to `end`, in seconds from the first frame of `source`."""

    source: VideoSource = field(repr=False)
    facts: VideoFacts
    start: float
    end: float
    number: int = 0
    scores: dict[str, ScoreValue] = field(default_factory=dict)
    encoded: EncodedClip | None = None
    vectors: dict[str, tuple[float, ...]] = field(default_factory=dict, repr=False)
    windows: tuple[CaptionWindow, ...] = field(default=(), repr=False)
    preview: bytes | None = field(default=None, repr=False)


@dataclass
class Clip(Task[ClipSpan]):
    """A span of a video. Frames are decoded on demand."""

    item_name = "clip"

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
    def scores(self) -> dict[str, ScoreValue]:
        return self.data.scores

    def describe(self) -> str:
        """Return the video and the span, for messages."""
        return f"{self.path}[{self.data.start:.2f}-{self.data.end:.2f} s]"

    @property
    def num_bytes(self) -> int:
        cut, preview = self.data.encoded, self.data.preview or b""
        return self.data.source.held_bytes + (len(cut.content) if cut else 0) + len(preview)

    @property
    def playing_ms(self) -> int:
        return round(1000 * self.duration)

    def describe_items(self) -> list[dict[str, Any]]:
        """Return the span, the size and the scores."""
        span, facts = self.data, self.data.facts
        times = {"start": round(span.start, 3), "end": round(span.end, 3)}
        size = {"duration": round(self.duration, 3), "width": facts.width, "height": facts.height}
        return [{"path": self.path, **times, **size, **span.scores}]

    def thumbnail(self, item: int) -> bytes | None:
        return _thumbnail_at(self.data.source, (self.data.start + self.data.end) / 2)

    def identity(self) -> str:
        return self.describe()

    def with_scores(self, **scores: ScoreValue) -> Self:
        """Return the clip with more scores; decoded data stays cached."""
        return self._with(replace(self.data, scores={**self.data.scores, **scores}))

    def with_encoded(self, encoded: EncodedClip) -> Self:
        return self._with(replace(self.data, encoded=encoded))

    def with_vector(self, name: str, vector: Sequence[float]) -> Self:
        """Return the clip with an embedding, under the name of its output column."""
        vectors = {**self.data.vectors, name: tuple(vector)}
        return self._with(replace(self.data, vectors=vectors))

    def with_windows(self, windows: Iterable[CaptionWindow]) -> Self:
        return self._with(replace(self.data, windows=tuple(windows)))

    def with_preview(self, preview: bytes) -> Self:
        return self._with(replace(self.data, preview=preview))

    def _with(self, span: ClipSpan) -> Self:
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
        facts = {**_source_fields(span.source), **_task_fields(self), "facts": span.facts.as_dict()}
        return _pack({**facts, "span": known}, span.source.content, file, span.preview)

    @classmethod
    def from_payload(cls, payload: bytes) -> Self:
        facts, [content, file, preview] = _unpack(payload)
        source, found = _make_source(facts, content), VideoFacts.from_dict(facts["facts"])
        known = facts["span"]
        known["vectors"] = {name: tuple(one) for name, one in known["vectors"].items()}
        known["windows"] = tuple(map(CaptionWindow.from_dict, known["windows"]))
        if cut := known["encoded"]:
            cut["changes"] = tuple(cut["changes"])
        known["encoded"] = EncodedClip(file or b"", **cut) if cut else None
        span = ClipSpan(source, found, **known, preview=preview)
        return cls(span, facts["dataset_name"], facts["metadata"])


def _pack(facts: dict[str, Any], *contents: bytes | None) -> bytes:
    """Pack facts and contents. None and empty contents stay different."""
    sizes = [None if content is None else len(content) for content in contents]
    head = json.dumps({**facts, "sizes": sizes}).encode()
    return b"".join(
        (len(head).to_bytes(_LENGTH, "big"), head, *(content or b"" for content in contents))
    )


def _unpack(payload: bytes) -> tuple[dict[str, Any], list[bytes | None]]:
    """Return the facts and as many contents as were packed."""
    offset = _LENGTH + int.from_bytes(payload[:_LENGTH], "big")
    facts: dict[str, Any] = json.loads(payload[_LENGTH:offset])
    contents: list[bytes | None] = []
    for size in facts.pop("sizes"):
        contents.append(None if size is None else payload[offset : offset + size])
        offset += size or 0
    return facts, contents
