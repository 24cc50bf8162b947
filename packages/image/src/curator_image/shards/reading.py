"""Reading shards: tar files of samples, or byte ranges of them."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar, get_args

from curator_core.errors import InputError, hint
from curator_core.io.partitioning import FilePartitioning, Split, parsed_size
from curator_core.model.files import FilePart
from curator_core.model.tasks import Rejected

from curator_image.reading import Found, ImageReader, ImageReading
from curator_image.samples import Sample
from curator_image.shards.contents import StreamedContent, content_of
from curator_image.shards.grouping import Grouper, Grouping, KeysEnd
from curator_image.shards.members import first_member, members_of


@dataclass
class WebDatasetReading(ImageReading):
    """Read tar files, or byte ranges of them."""

    grouping: Grouping = field(default_factory=Grouping)

    def check(self) -> Iterator[str]:
        if self.grouping.keys_end not in get_args(KeysEnd):
            close = hint(str(self.grouping.keys_end), get_args(KeysEnd))
            yield f"keys_end is {self.grouping.keys_end!r}{close}"
        else:
            yield from super().check()

    def samples(self, part: FilePart) -> Iterator[Found]:
        given = False
        with content_of(part, self.storage_options) as content:
            if isinstance(content, StreamedContent):
                if part.start:  # the first part reads a whole compressed file
                    return
                part = FilePart(part.path, part.size, part.version)
            first = first_member(content, part.start) if part.start else 0
            if first is None:
                return
            met = members_of(content, first)
            for found in Grouper(part.path, content, self.grouping).samples(
                met, part.start, part.end
            ):
                if not given and part.start == 0 and isinstance(found, Rejected):
                    _refuse_foreign(part, found, content.cut(0, 512))
                given = given or isinstance(found, Sample)
                yield found
            if isinstance(content, StreamedContent) and content.damage is not None:
                yield Rejected(f"{content.damage.reason}; what follows is lost", part.path)


def _refuse_foreign(part: FilePart, found: Rejected, start: bytes) -> None:
    """Raise one error for a file that is not a tar file at all."""
    if found.where == f"{part.path} byte 0" and found.reason.endswith("what follows is lost"):
        hints = {b"\x1f\x8b": "gzip data; let its name end in .tar.gz", b"PK": "a zip file"}
        said = next((s for sign, s in hints.items() if start.startswith(sign)), "no tar file")
        raise InputError(f"cannot read {part.path}: it is {said}")


@dataclass
class WebDatasetReader(ImageReader):
    """Read WebDataset shards (.tar, also .gz .zst .bz2 .xz).

    Consecutive members with the same key form a sample: an image, its key and its sidecars. Large
    shards are split. Damaged samples are quarantined with shard, position and key; all others are
    kept.
    """

    keys_end: KeysEnd = field(default="first_dot", kw_only=True)
    """Where the key ends in a member's base name: at the first dot or at the last one."""

    image_ending: str | None = field(default=None, kw_only=True)
    """Extension of the image if several members could be it: jpg, png … The first by default."""

    max_file_bytes: int | str = field(default="256MiB", kw_only=True)
    """Maximum member size. Samples with a larger member are quarantined without reading it."""

    endings: ClassVar[tuple[str, ...]] = (
        ".tar", ".tar.gz", ".tgz", ".tar.zst", ".tar.bz2", ".tar.xz",
    )  # fmt: skip
    split: ClassVar[Split] = "members"

    def reading(self, listing: FilePartitioning) -> WebDatasetReading:
        grouping = Grouping(
            self.keys_end, self.image_ending, self.demands, parsed_size(self.max_file_bytes) or 0
        )
        return WebDatasetReading(
            self.chosen, None, None, self.storage_options, listing, self.demands,
            tuple(self.json_fields or ()), grouping,
        )  # fmt: skip
