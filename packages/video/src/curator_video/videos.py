"""Videos as tasks: location and facts. The bytes are not copied."""

from dataclasses import dataclass
from typing import Any, Self

from curator_core.model.tasks import Origin, Task

from curator_video.facts import VideoFacts
from curator_video.payloads import packed, unpacked
from curator_video.sources import Inside, VideoSource


@dataclass
class Video(Task[VideoSource]):
    """A video. The reader sets `facts`."""

    facts: VideoFacts | None = None

    @classmethod
    def of(cls, path: str, content: bytes | None = None) -> Self:
        """Create a video that is not probed yet; the first stage that needs its facts probes it."""
        return cls(VideoSource(path, len(content or b""), content=content))

    def probed(self) -> VideoFacts:
        """Return the facts; probe now if they are not known yet."""
        from curator_video.probing import probe

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

    def identity(self) -> str:
        return f"{self.data.path} {self.data.size} {self.data.version}"

    def origins(self) -> list[Origin]:
        return [Origin(self.data.path, f"{self.data.size}:{self.data.version}")]

    def to_payload(self) -> bytes:
        facts = None if self.facts is None else self.facts.as_dict()
        known = {**source_facts(self.data), **labels(self), "facts": facts}
        return packed(known, self.data.content)

    @classmethod
    def from_payload(cls, payload: bytes) -> Self:
        facts, [content] = unpacked(payload)
        found = facts["facts"] and VideoFacts.from_dict(facts["facts"])
        return cls(source_from(facts, content), facts["dataset_name"], facts["metadata"], found)


def labels(task: Task[Any]) -> dict[str, Any]:
    return {"dataset_name": task.dataset_name, "metadata": task.metadata}


def source_facts(source: VideoSource) -> dict[str, Any]:
    inside = source.inside and [source.inside.path, source.inside.start]
    known = {"path": source.path, "size": source.size, "version": source.version}
    return {**known, "inside": inside}


def source_from(facts: dict[str, Any], content: bytes | None) -> VideoSource:
    inside = Inside(*facts["inside"]) if facts["inside"] else None
    return VideoSource(facts["path"], facts["size"], facts["version"], content, inside=inside)
