"""arXiv: read tar files of paper sources in LaTeX."""

import io
import re
import tarfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pyarrow as pa
from curator_core import Dropped, FilePart, InputError, Rejected
from curator_core.io.filesystems import base_name, open_input
from curator_core.io.partitioning import parse_size

from curator_text.option_checks import size_problems
from curator_text.readers.base import FormatReader, RecordReading, RowOutcome


@dataclass
class ArxivReading(RecordReading):
    max_paper_bytes: int | str = "64MiB"
    keep_latex: bool = False

    def check(self) -> Iterator[str]:
        yield from size_problems("max_paper_bytes", self.max_paper_bytes, "64MiB")
        yield from super().check()

    def schema(self) -> pa.Schema:
        return pa.schema({"paper_id": pa.string(), self.text_field or "text": pa.string()})

    def rows(self, part: FilePart) -> Iterator[RowOutcome]:
        max_bytes = parse_size(self.max_paper_bytes) or 0
        member = None
        with open_input(part.path, self.storage_options) as file:
            try:
                with tarfile.open(fileobj=file, mode="r|*") as archive:
                    for member in archive:
                        if member.isreg():
                            yield self._paper(part, archive, member, max_bytes)
            except (tarfile.TarError, EOFError, OSError, ValueError) as error:
                if isinstance(error, OSError) and error.errno is not None:
                    raise
                if member is None:
                    raise InputError(
                        f"cannot read {part.path}: it is not a tar file of papers ({error})"
                    ) from None
                where = f"{part.path} after {member.name!r}, byte {member.offset} (decompressed)"
                yield Rejected(f"the archive is damaged: {error}; the rest is lost", where)

    def _paper(
        self, part: FilePart, archive: tarfile.TarFile, member: tarfile.TarInfo, max_bytes: int
    ) -> RowOutcome:
        if member.name.lower().endswith(".pdf"):
            return Dropped("PDF only")
        if member.size > max_bytes:
            return Dropped("larger than max_paper_bytes")
        file = archive.extractfile(member)
        data = file.read() if file else b""
        try:
            text = extract_latex(data, max_bytes)
        except UnusablePaperError as error:
            reason = str(error)
            if reason.startswith("damaged"):
                return Rejected(reason, f"{part.path} member {member.name!r}", payload=data)
            return Dropped(reason)
        return _paper_id(member.name), text if self.keep_latex else clean_latex(text)


def _paper_id(name: str) -> str:
    """Return the paper id: `2301.00001` for `2301/2301.00001.gz`; older: `hep-th9901001`."""
    last = base_name(name)
    for ending in (".tar.gz", ".gz", ".tar", ".tex"):
        last = last.removesuffix(ending)
    return last


@dataclass
class ArxivReader(FormatReader):
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


_DOCUMENT = re.compile(r"\\document(?:class|style)\b")
_INPUT = re.compile(r"\\(?:input|include|subfile)\s{0,9}\{?\s{0,9}([\w./+-]{1,200})\s{0,9}\}?")
_MAX_DEPTH = 5
_MAX_FILES = 2000
_ENDINGS = (".tex", ".ltx", ".latex")


class UnusablePaperError(Exception):
    """The paper has no usable text; the message is the reason."""


def extract_latex(data: bytes, max_bytes: int) -> str:
    """Return a paper's LaTeX from a member of an arXiv archive.

    The member is a gzipped file, or a gzipped tar of files.
    """
    data = _decompress(data, max_bytes)
    if data.startswith(b"%PDF"):
        raise UnusablePaperError("PDF only")
    if len(data) > 262 and data[257:262] == b"ustar":
        return _merge_files(_read_tex_files(data), max_bytes)
    text = _decode(data)
    if "\\" not in text:
        raise UnusablePaperError("no LaTeX in it")
    return text


def _decompress(data: bytes, max_bytes: int) -> bytes:
    if not data.startswith(b"\x1f\x8b"):
        return data
    try:
        data = zlib.decompressobj(31).decompress(data, max_bytes + 1)
    except zlib.error as error:
        raise UnusablePaperError(f"damaged: {error}") from None
    if len(data) > max_bytes:
        raise UnusablePaperError("larger than max_paper_bytes")
    return data


def _read_tex_files(data: bytes) -> dict[str, str]:
    """Return the LaTeX files in a tar. Names are only compared, never used to open files."""
    found: dict[str, str] = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            for number, member in enumerate(archive):
                if number == _MAX_FILES:
                    break
                if member.isreg() and member.name.lower().endswith(_ENDINGS):
                    file = archive.extractfile(member)
                    found[member.name.removeprefix("./")] = _decode(file.read() if file else b"")
    except tarfile.TarError as error:
        if not found:
            raise UnusablePaperError(f"damaged: {error}") from None
    if not found:
        raise UnusablePaperError("no LaTeX in it")
    return found


def _merge_files(files: Mapping[str, str], max_bytes: int) -> str:
    """Return the main file with the files that it includes inlined."""
    mains = [name for name, text in files.items() if _DOCUMENT.search(text)]
    main = min(mains or files, key=lambda name: (name.count("/"), -len(files[name]), name))
    remaining = [max_bytes]

    def inline(text: str, depth: int) -> str:
        remaining[0] -= len(text)
        if remaining[0] < 0:
            raise UnusablePaperError("larger than max_paper_bytes")
        if depth == _MAX_DEPTH:
            return text
        return _INPUT.sub(lambda found: include(found, depth), text)

    def include(found: re.Match[str], depth: int) -> str:
        name = found[1].removeprefix("./")
        names = (name, f"{name}.tex")
        text = next((files[one] for one in names if one in files), None)
        return found[0] if text is None else inline(text, depth + 1) + "\n"

    return inline(files[main], 0)


def _decode(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1")


_COMMENT = re.compile(r"(?<!\\)((?:\\\\){0,8})%[^\n]*\n?")
_SIMPLE = re.compile(
    r"\\(?:newcommand|renewcommand|providecommand)\*?\s{0,9}\{?\\([A-Za-z]{1,60})\}?"
    r"\s{0,9}\{([^{}\\#\n]{0,100}|\{?\\[A-Za-z]{1,60}\s?[^{}\\#\n]{0,60}\}?)\}"
    r"|\\def\s{0,9}\\([A-Za-z]{1,60})\s{0,9}\{([^{}\\#\n]{0,100})\}"
)
_WORD = re.compile(r"\\([A-Za-z]{1,60})(?![A-Za-z])")
_BIBLIOGRAPHY = re.compile(r"\\(?:bibliographystyle|bibliography|addbibresource|printbibliography)"
                           r"(?:\s{0,9}\{[^{}\n]{0,500}\})?")  # fmt: skip
_BLANK_LINES = re.compile(r"\n\s{0,200}\n\s{0,200}\n")


def clean_latex(source: str) -> str:
    """Return the document body without comments and bibliography, with simple macros expanded."""
    source = _COMMENT.sub(r"\1", source)
    macros = _find_macros(source)
    text = _text_between(source, r"\begin{document}", r"\end{document}")
    if macros:
        text = _WORD.sub(lambda found: macros.get(found[1], found[0]), text)
    for name in ("thebibliography", "references", "REFERENCES"):
        text = _remove_between(text, rf"\begin{{{name}}}", rf"\end{{{name}}}")
    return _BLANK_LINES.sub("\n\n", _BIBLIOGRAPHY.sub("", text)).strip()


def _find_macros(source: str) -> dict[str, str]:
    """Map macro names to their text. Macros are expanded only once, so recursion cannot grow."""
    return {found[1] or found[3]: found[2] or found[4] or "" for found in _SIMPLE.finditer(source)}


def _text_between(text: str, begin: str, end: str) -> str:
    start = text.find(begin)
    if start < 0:
        return text
    stop = text.rfind(end)
    return text[start + len(begin) : stop if stop > start else None]


def _remove_between(text: str, begin: str, end: str) -> str:
    start = text.find(begin)
    if start < 0:
        return text
    stop = text.find(end, start)
    return text[:start] + (text[stop + len(end) :] if stop >= 0 else "")
