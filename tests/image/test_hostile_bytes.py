"""Files with flipped bytes give a picture or an error message, never anything else."""

import io
import resource
import tarfile
from pathlib import Path

import pytest
from corpus.drawing import Dice
from corpus.pictures import drawn
from curator_core import FileGroup, FilePart, InputError, Rejected
from curator_image import ImageBatch, View
from curator_image.decoding import ImageDecodeError, decode
from curator_image.readers.webdataset import WebDatasetReading
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image
from tars import plain, reading, write

FORMATS = (
    "JPEG",
    "PNG",
    "WEBP",
    "GIF",
    "TIFF",
    "BMP",
    "PPM",
    "JPEG2000",
    "AVIF",
    "TGA",
    "ICO",
    "PCX",
)

MAX_KILOBYTES = 1_000_000


def peak_kilobytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def whole(kind: str) -> bytes:
    Image.init()
    if kind not in Image.SAVE:
        pytest.skip(f"this Pillow writes no {kind}")
    out = io.BytesIO()
    drawn(Dice(kind), 72, 56).save(out, kind)
    return out.getvalue()


def flips(length: int) -> st.SearchStrategy[tuple[list[tuple[int, int]], int]]:
    """Generate changed bytes, many of them in the header, and often an early end."""
    offsets = st.one_of(st.integers(0, min(length, 200) - 1), st.integers(0, length - 1))
    changes = st.lists(st.tuples(offsets, st.integers(0, 255)), min_size=1, max_size=8)
    return st.tuples(changes, st.one_of(st.just(length), st.integers(0, length)))


def flipped(data: bytes, changes: list[tuple[int, int]], end: int) -> bytes:
    changed = bytearray(data)
    for offset, value in changes:
        changed[offset] = value
    return bytes(changed[:end])


def decode_or_error(data: bytes, view: View) -> str:
    try:
        return str(decode(data, view).dtype)
    except ImageDecodeError as error:
        return str(error)


def read(stage: WebDatasetReading, part: FilePart) -> list[object]:
    """Return the outputs of a part; a file that is refused as a whole is one rejection."""
    try:
        return list(stage.process(FileGroup([part])))
    except InputError as error:
        return [Rejected(str(error), str(error).partition(part.path)[1])]


def survive(kind: str, examples: int) -> None:
    data = whole(kind)
    before = peak_kilobytes()

    @settings(max_examples=examples, deadline=20_000, database=None,
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(flips(len(data)))
    def check(flip: tuple[list[tuple[int, int]], int]) -> None:
        broken = flipped(data, *flip)
        for view in (View(short_side=32), View(max_pixels=1_000_000, mode="L")):
            assert decode_or_error(broken, view)

    check()
    assert peak_kilobytes() - before < MAX_KILOBYTES


@pytest.mark.parametrize("kind", FORMATS)
def test_some_flips(kind: str) -> None:
    survive(kind, 12)


@pytest.mark.soak
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("kind", FORMATS)
def test_a_thousand_flips(kind: str) -> None:
    survive(kind, 1000)


def survive_in_shards(folder: Path, examples: int) -> None:
    path = folder / "a.tar"
    data = write(path, plain(6, 20), tarfile.PAX_FORMAT).read_bytes()
    stage = reading()

    @settings(max_examples=examples, deadline=20_000, database=None,
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(flips(len(data)), st.integers(1, len(data)))
    def check(flip: tuple[list[tuple[int, int]], int], edge: int) -> None:
        path.write_bytes(flipped(data, *flip))
        for start, end in ((0, edge), (edge, None)):
            found = read(stage, FilePart(str(path), start=start, end=end))
            assert all(one.reason and one.where for one in found if isinstance(one, Rejected))
            assert all(all(one.keys) for one in found if isinstance(one, ImageBatch))

    check()


def test_some_flips_in_shards(tmp_path: Path) -> None:
    survive_in_shards(tmp_path, 60)


@pytest.mark.soak
@pytest.mark.timeout(1200)
def test_a_thousand_flips_in_shards(tmp_path: Path) -> None:
    survive_in_shards(tmp_path, 1000)
