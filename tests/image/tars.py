"""Small tar files for tests, one member at a time."""

import io
import tarfile
from collections.abc import Iterable
from pathlib import Path

from curator_core import Dropped, FileGroup, FilePart, Rejected
from curator_image.image_batch import ImageBatch
from curator_image.readers.webdataset import WebDatasetReader, WebDatasetReading

JPEG = b"\xff\xd8\xff\xe0 the rest of a picture "


def member(
    name: str, data: bytes = JPEG, kind: bytes = tarfile.REGTYPE
) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.type, info.size = kind, len(data)
    return info, data


def write(
    path: Path, members: Iterable[tuple[tarfile.TarInfo, bytes]], kind: int = tarfile.GNU_FORMAT
) -> Path:
    with tarfile.open(path, "w", format=kind) as tar:
        for info, data in members:
            tar.addfile(info, io.BytesIO(data))
    return path


def plain(number: int, size: int = 700) -> list[tuple[tarfile.TarInfo, bytes]]:
    """Return this number of samples, each a picture with a caption."""
    found = []
    for index in range(number):
        found.append(member(f"a/{index:04d}.jpg", JPEG + bytes([index % 256]) * (size + index)))
        found.append(member(f"a/{index:04d}.txt", b"caption %d" % index))
    return found


def reading(**options: object) -> WebDatasetReading:
    _, stage = WebDatasetReader("unused.tar", **options).decompose()  # type: ignore[arg-type]
    assert isinstance(stage, WebDatasetReading)
    return stage


def read(
    path: Path | str, start: int = 0, end: int | None = None, **options: object
) -> tuple[list[dict[str, object]], list[Rejected], list[Dropped]]:
    """Return the rows of a part of a file, and what was quarantined or dropped."""
    group = FileGroup([FilePart(str(path), start=start, end=end)])
    rows: list[dict[str, object]] = []
    rejected, dropped = [], []
    for found in reading(**options).process(group):
        if isinstance(found, ImageBatch):
            rows += found.to_pylist()
        elif isinstance(found, Rejected):
            rejected.append(found)
        elif isinstance(found, Dropped):
            dropped.append(found)
    return rows, rejected, dropped


def keys(rows: list[dict[str, object]]) -> list[object]:
    return [row["key"] for row in rows]
