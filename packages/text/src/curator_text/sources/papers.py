"""Papers: merge the source files of a paper into one text, in memory."""

import io
import re
import tarfile
import zlib
from collections.abc import Mapping

_DOCUMENT = re.compile(r"\\document(?:class|style)\b")
_INPUT = re.compile(r"\\(?:input|include|subfile)\s{0,9}\{?\s{0,9}([\w./+-]{1,200})\s{0,9}\}?")
_DEEPEST = 5
_MOST_FILES = 2000
_ENDINGS = (".tex", ".ltx", ".latex")


class NoPaperError(Exception):
    """The paper has no usable text; the message is the reason."""


def paper_of(packed: bytes, most: int) -> str:
    """Return a paper's LaTeX from a member of an arXiv archive.

    The member is a gzipped file, or a gzipped tar of files.
    """
    data = _inflated(packed, most)
    if data.startswith(b"%PDF"):
        raise NoPaperError("PDF only")
    if len(data) > 262 and data[257:262] == b"ustar":
        return _joined(_files(data), most)
    text = _decoded(data)
    if "\\" not in text:
        raise NoPaperError("no LaTeX in it")
    return text


def _inflated(packed: bytes, most: int) -> bytes:
    if not packed.startswith(b"\x1f\x8b"):
        return packed
    try:
        data = zlib.decompressobj(31).decompress(packed, most + 1)
    except zlib.error as error:
        raise NoPaperError(f"damaged: {error}") from None
    if len(data) > most:
        raise NoPaperError("larger than max_paper_bytes")
    return data


def _files(data: bytes) -> dict[str, str]:
    """Return the LaTeX files in a tar. Names are only compared, never used to open files."""
    found: dict[str, str] = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            for number, member in enumerate(archive):
                if number == _MOST_FILES:
                    break
                if member.isreg() and member.name.lower().endswith(_ENDINGS):
                    file = archive.extractfile(member)
                    found[member.name.removeprefix("./")] = _decoded(file.read() if file else b"")
    except tarfile.TarError as error:
        if not found:
            raise NoPaperError(f"damaged: {error}") from None
    if not found:
        raise NoPaperError("no LaTeX in it")
    return found


def _joined(files: Mapping[str, str], most: int) -> str:
    """Return the main file with the files that it includes inlined."""
    mains = [name for name, text in files.items() if _DOCUMENT.search(text)]
    main = min(mains or files, key=lambda name: (name.count("/"), -len(files[name]), name))
    left = [most]

    def filled(text: str, depth: int) -> str:
        left[0] -= len(text)
        if left[0] < 0:
            raise NoPaperError("larger than max_paper_bytes")
        if depth == _DEEPEST:
            return text
        return _INPUT.sub(lambda found: _part(found, depth), text)

    def _part(found: re.Match[str], depth: int) -> str:
        name = found[1].removeprefix("./")
        names = (name, f"{name}.tex")
        text = next((files[one] for one in names if one in files), None)
        return found[0] if text is None else filled(text, depth + 1) + "\n"

    return filled(files[main], 0)


def _decoded(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1")
