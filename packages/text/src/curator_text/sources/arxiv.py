"""arXiv: read tar files of paper sources in LaTeX."""

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
    """Return the paper id: `2301.00001` for `2301/2301.00001.gz`; older: `hep-th9901001`."""
    last = base_name(name)
    for ending in (".tar.gz", ".gz", ".tar", ".tex"):
        last = last.removesuffix(ending)
    return last


@dataclass
class ArxivReader(SourceReader):
    """Reads arXiv source archives (tar) into paper_id and the paper's LaTeX as text.

    The files of a paper are merged into one. Comments and the bibliography are removed, and macros
    without arguments are expanded. Nothing is unpacked to disk. Each tar file is read by one
    worker.
    """

    max_paper_bytes: int | str = field(default="64MiB", kw_only=True)
    """Papers larger than this, compressed or decompressed, are dropped."""

    keep_latex: bool = field(default=False, kw_only=True)
    """Keep the merged LaTeX source unchanged."""

    endings: ClassVar[tuple[str, ...]] = (".tar", ".tar.gz", ".tgz")
    reading = ArxivReading

    def reading_options(self) -> Sequence[Any]:
        return (self.max_paper_bytes, self.keep_latex)
