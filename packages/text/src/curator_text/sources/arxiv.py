"""arXiv: archives with the LaTeX sources of papers."""

import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pyarrow as pa
from curator_core import Dropped, InputError, Rejected
from curator_core.io.filesystems import base_name, open_input
from curator_core.io.partitioning import parsed_size
from curator_core.model.files import FilePart

from curator_text.sizes import size_problems
from curator_text.sources.latex import cleaned
from curator_text.sources.papers import NoPaperError, paper_of
from curator_text.sources.readers import SourceReader
from curator_text.sources.records import Found, RecordReading


@dataclass
class ArxivReading(RecordReading):
    """Reads tar files of papers, one after another."""

    max_paper_bytes: int | str = "64MiB"
    keep_latex: bool = False

    def check(self) -> Iterator[str]:
        yield from size_problems("max_paper_bytes", self.max_paper_bytes, "64MiB")
        yield from super().check()

    def schema(self) -> pa.Schema:
        return pa.schema({"paper_id": pa.string(), self.text_field or "text": pa.string()})

    def rows(self, part: FilePart) -> Iterator[Found]:
        most = parsed_size(self.max_paper_bytes) or 0
        last = None
        with open_input(part.path, self.storage_options) as file:
            try:
                with tarfile.open(fileobj=file, mode="r|*") as archive:
                    for last in archive:
                        if last.isreg():
                            yield self._paper(part, archive, last, most)
            except (tarfile.TarError, EOFError, OSError, ValueError) as error:
                if isinstance(error, OSError) and error.errno is not None:
                    raise
                if last is None:
                    raise InputError(
                        f"cannot read {part.path}: it is no tar file of papers ({error})"
                    ) from None
                where = f"{part.path} behind {last.name!r}, byte {last.offset} (decompressed)"
                yield Rejected(f"the archive is damaged: {error}; what follows is lost", where)

    def _paper(
        self, part: FilePart, archive: tarfile.TarFile, member: tarfile.TarInfo, most: int
    ) -> Found:
        if member.name.lower().endswith(".pdf"):
            return Dropped("PDF only")
        if member.size > most:
            return Dropped("larger than max_paper_bytes")
        file = archive.extractfile(member)
        packed = file.read() if file else b""
        try:
            text = paper_of(packed, most)
        except NoPaperError as error:
            reason = str(error)
            if reason.startswith("damaged"):
                return Rejected(reason, f"{part.path} member {member.name!r}", payload=packed)
            return Dropped(reason)
        return _paper_id(member.name), text if self.keep_latex else cleaned(text)


def _paper_id(name: str) -> str:
    """`2301.00001` of `2301/2301.00001.gz`; papers of old are `hep-th9901001`."""
    last = base_name(name)
    for ending in (".tar.gz", ".gz", ".tar", ".tex"):
        last = last.removesuffix(ending)
    return last


@dataclass
class ArxivReader(SourceReader):
    """Reads tar files of papers as arXiv gives them: paper_id, and the LaTeX in text.

    Files of one paper are put together; comments and bibliography go, and macros without arguments
    are written out. Nothing is unpacked to a disk. A tar file is read by one worker.
    """

    max_paper_bytes: int | str = field(default="64MiB", kw_only=True)
    """Papers larger than this, packed or unpacked, are dropped."""

    keep_latex: bool = field(default=False, kw_only=True)
    """Whether to keep the source as it is, all files of a paper in one."""

    endings: ClassVar[tuple[str, ...]] = (".tar", ".tar.gz", ".tgz")
    reading = ArxivReading

    def reading_options(self) -> Sequence[Any]:
        return (self.max_paper_bytes, self.keep_latex)
