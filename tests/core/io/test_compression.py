import bz2
import gzip
import io
import lzma
import random
import sys
from collections.abc import Callable

import pyarrow as pa
import pytest
from curator_core.io.compression import (
    COMPRESSIONS,
    DamagedStreamError,
    compression_of,
    decompress,
    open_compressed,
)
from hypothesis import given, settings
from hypothesis import strategies as st


def zstd(data: bytes) -> bytes:
    return pa.Codec("zstd").compress(data, asbytes=True)


COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstd,
}


def text(size: int, seed: int = 0) -> bytes:
    """Lines that compress to about a third."""
    rng = random.Random(seed)
    words = [b"%x" % rng.getrandbits(24) for _ in range(500)]
    out = bytearray()
    while len(out) < size:
        out += b" ".join(rng.choices(words, k=12)) + b"\n"
    return bytes(out[:size])


def read(compressed: bytes, kind: str) -> tuple[bytes, DamagedStreamError | None]:
    whole = bytearray()
    try:
        for piece in decompress(lambda: io.BytesIO(compressed), kind):  # type: ignore[arg-type]
            assert 0 < len(piece) <= 512 * 1024
            whole += piece
    except DamagedStreamError as damage:
        return bytes(whole), damage
    return bytes(whole), None


@pytest.mark.parametrize("kind", COMPRESSIONS)
@pytest.mark.parametrize("size", [0, 1, 100_000, 3_000_000])
def test_content_comes_back(kind: str, size: int):
    data = text(size)
    assert read(COMPRESS[kind](data), kind) == (data, None)


@pytest.mark.parametrize("kind", COMPRESSIONS)
def test_streams_in_a_row_are_one_file(kind: str):
    parts = [text(10_000, seed) for seed in range(3)]
    joined = b"".join(COMPRESS[kind](part) for part in parts)
    assert read(joined, kind) == (b"".join(parts), None)


def test_padding_after_a_stream_is_not_damage():
    assert read(gzip.compress(b"a\n") + b"\0" * 1000, "gz") == (b"a\n", None)


@pytest.mark.parametrize("kind", COMPRESSIONS)
def test_very_compressible_content_stays_in_small_pieces(kind: str):
    data = b"\0" * 20_000_000
    assert read(COMPRESS[kind](data), kind) == (data, None)


@pytest.mark.parametrize("kind", COMPRESSIONS)
def test_an_empty_file_is_empty(kind: str):
    assert read(b"", kind) == (b"", None)


@pytest.mark.parametrize("kind", COMPRESSIONS)
def test_a_truncated_stream_yields_its_content_and_reports_where_it_ends(kind: str):
    data = text(3_000_000)
    got, damage = read(COMPRESS[kind](data)[:-200_000], kind)
    assert damage is not None
    assert str(damage) == (
        f"the compressed stream ends too early (behind {len(got)} decompressed bytes)"
    )
    assert data.startswith(got)
    assert len(got) > 500_000


@pytest.mark.parametrize("kind", COMPRESSIONS)
def test_garbage_after_a_stream_keeps_the_content_before_it(kind: str):
    data = text(300_000)
    got, damage = read(COMPRESS[kind](data) + b"this is no stream" * 10, kind)
    assert got == data
    assert damage is not None
    assert damage.offset == len(data)
    assert damage.reason.startswith("the compressed stream is damaged: ")


@pytest.mark.parametrize("kind", COMPRESSIONS)
def test_content_that_is_not_compressed(kind: str):
    got, damage = read(b'{"text": "not compressed"}\n' * 10, kind)
    assert got == b""
    assert damage is not None
    assert damage.reason == f"it is not compressed, though its name ends in .{kind}; rename it"


def test_a_stream_of_another_kind():
    got, damage = read(gzip.compress(text(1000)), "zst")
    assert got == b""
    assert damage is not None
    assert damage.reason == "it is compressed as gz, though its name ends in .zst; rename it"


def test_corruption_in_the_middle_keeps_the_complete_blocks_before_it():
    data = text(3_000_000)
    compressed = bytearray(gzip.compress(data))
    middle = len(compressed) // 2
    compressed[middle : middle + 50] = b"\xff" * 50
    got, damage = read(bytes(compressed), "gz")
    assert damage is not None
    assert len(got) > 1_300_000
    assert data[:1_300_000] == got[:1_300_000]


def test_zstd_yields_every_block_before_the_damage():
    data = text(3_000_000)
    compressed = zstd(data)
    got, damage = read(compressed[: len(compressed) // 2], "zst")
    assert damage is not None
    assert data.startswith(got)
    assert len(got) > 1_300_000


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(COMPRESSIONS), st.data())
def test_damage_never_raises_another_error(kind: str, data: st.DataObject):
    content = text(5_000)
    compressed = bytearray(COMPRESS[kind](content))
    for position in data.draw(st.lists(st.integers(0, len(compressed) - 1), min_size=1)):
        compressed[position] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(compressed)))
    got, damage = read(bytes(compressed[:cut]), kind)
    assert damage is None or damage.offset == len(got)


def test_disk_errors_are_not_damage():
    class Broken(io.RawIOBase):
        def read(self, size: int = -1) -> bytes:
            raise ConnectionResetError(104, "reset")

    for kind in COMPRESSIONS:
        with pytest.raises(ConnectionResetError):
            list(decompress(Broken, kind))  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [None, *COMPRESSIONS])
def test_writing_is_deterministic_and_other_tools_can_read_it(kind: str | None):
    data = text(1_000_000)

    def written() -> bytes:
        buffer = io.BytesIO()
        with open_compressed(buffer, kind) as file:  # type: ignore[arg-type]
            file.write(data[:500_000])
            file.write(data[500_000:])
        return buffer.getvalue()

    once = written()
    assert once == written()
    back = {
        None: lambda raw: raw,
        "gz": gzip.decompress,
        "bz2": bz2.decompress,
        "xz": lzma.decompress,
        "zst": lambda raw: pa.CompressedInputStream(io.BytesIO(raw), "zstd").read(),
    }
    assert back[kind](once) == data


@pytest.mark.parametrize(
    ("path", "kind"),
    [("a.jsonl.gz", "gz"), ("a.jsonl.ZST", "zst"), ("a.gz/b.jsonl", None), ("gz.jsonl", None)],
)
def test_the_extension_decides_the_compression(path: str, kind: str | None):
    assert compression_of(path) == kind


@pytest.mark.parametrize("has_isal", [True, False])
def test_gzip_is_the_same_content_with_isal_and_without(
    has_isal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not has_isal:
        monkeypatch.setitem(sys.modules, "isal", None)
    out = io.BytesIO()
    with open_compressed(out, "gz") as stream:
        stream.write(text(1000))
    assert gzip.decompress(out.getvalue()) == text(1000)
    assert read(gzip.compress(text(1000)), "gz") == (text(1000), None)
    damaged = bytearray(out.getvalue())
    damaged[-5] ^= 1  # of the check sum
    got, damage = read(bytes(damaged), "gz")
    assert got == text(1000)
    assert damage is not None
