"""Images of every format decode to upright pixels of the requested size."""

import io
import pickle
import struct
import warnings
import zlib
from collections.abc import Iterator

import numpy as np
import pytest
from corpus.drawing import Dice
from corpus.pictures import drawn
from corpus.shards import SHARES, samples
from curator_image import ImageBatch, View, decoding
from curator_image.decoding import ImageDecodeError, decode
from curator_image.file_formats import detect_format, extension_mismatch
from curator_image.filters.picture import Picture
from curator_image.pixel_view import Mode
from PIL import Image


def encoded(picture: Image.Image, kind: str = "JPEG", **options: object) -> bytes:
    out = io.BytesIO()
    picture.save(out, kind, **options)
    return out.getvalue()


def psnr(one: np.ndarray, other: np.ndarray) -> float:
    error = np.mean((one.astype(float) - other.astype(float)) ** 2)
    return float(10 * np.log10(255**2 / max(error, 1e-9)))


@pytest.mark.parametrize("side", [320, 1280, 2560])
def test_a_small_view_of_a_jpeg_equals_a_full_decode(side: int) -> None:
    picture = drawn(Dice("view"), side, side * 3 // 4).resize((side, side * 3 // 4))
    data = encoded(picture, quality=90)
    full = Image.open(io.BytesIO(data)).convert("RGB")
    expected = np.asarray(full.resize((299, 224), Image.Resampling.BICUBIC))
    found = decode(data, View(short_side=224))
    assert found.shape == (224, 299, 3)
    assert psnr(found, expected) >= 50


@pytest.mark.parametrize("view", [View(short_side=64), View(box=(32, 32), resampling="lanczos")])
@pytest.mark.parametrize("size", [(1607, 1071), (903, 1015)])
def test_sides_that_are_not_multiples_of_eight_are_not_stretched(
    size: tuple[int, int], view: View
) -> None:
    data = encoded(drawn(Dice("odd"), *size), quality=90)
    full = Image.open(io.BytesIO(data))
    kind = Image.Resampling[view.resampling.upper()]
    expected = np.asarray(full.resize(view.size_for(*size), kind))
    assert psnr(decode(data, view), expected) >= 50


def various_jpegs() -> Iterator[bytes]:
    """Yield JPEGs of many kinds, some of them damaged."""
    picture = drawn(Dice("whole"), 97, 61)
    for options in ({"quality": 30}, {"subsampling": 0}, {"progressive": True}, {"keep_rgb": True}):
        yield encoded(picture, **options)
    yield encoded(picture.convert("L"))
    yield encoded(picture.convert("CMYK"))
    data = encoded(picture)
    yield data[: len(data) // 2]
    yield data[:-2]
    yield data[:700] + bytes(20) + data[720:]
    yield data[:900] + b"\xff\xd9" + data[902:]


@pytest.mark.parametrize("mode", ["RGB", "L"])
def test_simplejpeg_and_pillow_decode_to_the_same_pixels(
    mode: Mode, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("simplejpeg", reason="the extra `fast`")
    view = View(mode=mode)
    with_simplejpeg = [decode_or_message(data, view) for data in various_jpegs()]
    monkeypatch.setattr(decoding, "has_simplejpeg", lambda: False)
    assert with_simplejpeg == [decode_or_message(data, view) for data in various_jpegs()]
    assert sum(isinstance(one, bytes) for one in with_simplejpeg) >= 7


def decode_or_message(data: bytes, view: View) -> bytes | str:
    try:
        pixels = decode(memoryview(data), view)
    except ImageDecodeError as error:
        return str(error)
    assert not pixels.flags.writeable
    return repr(pixels.shape).encode() + pixels.tobytes()


def test_unusual_jpegs_are_left_to_pillow() -> None:
    pytest.importorskip("simplejpeg", reason="the extra `fast`")
    picture = drawn(Dice("whole"), 40, 30)
    data = encoded(picture)
    assert decoding.decode_with_simplejpeg(data, (40, 30), "RGB") is not None
    assert decoding.decode_with_simplejpeg(data, (40, 31), "RGB") is None
    assert (
        decoding.decode_with_simplejpeg(encoded(picture.convert("CMYK")), (40, 30), "RGB") is None
    )
    assert decoding.decode_with_simplejpeg(data[:-20], (40, 30), "RGB") is None


def test_nothing_is_enlarged_and_boxes_are_exact() -> None:
    data = encoded(drawn(Dice("size"), 100, 60))
    assert decode(data, View(short_side=224)).shape == (60, 100, 3)
    assert decode(data, View(box=(32, 16), mode="L")).shape == (16, 32)
    assert not decode(data).flags.writeable


@pytest.mark.parametrize("kind", ["PNG", "TIFF", "WEBP"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_pictures_are_turned_upright(orientation: int, kind: str) -> None:
    from PIL import ImageOps

    picture = Image.effect_mandelbrot((60, 40), (-2, -1, 1, 0.6), 30).convert("RGB")
    exif = Image.Exif()
    exif[0x0112] = orientation
    lossless = {"lossless": True} if kind == "WEBP" else {}
    data = encoded(picture, kind, exif=exif, **lossless)
    tagged = picture.copy()
    tagged.getexif()[0x0112] = orientation
    expected = np.asarray(ImageOps.exif_transpose(tagged))
    assert np.array_equal(decode(data), expected)
    header = Picture(data).header
    assert (header.height, header.width) == expected.shape[:2]
    assert decode(data, View(box=(10, 20))).shape == (20, 10, 3)


def test_a_heic_file_is_decoded_with_the_extra() -> None:
    pillow_heif = pytest.importorskip("pillow_heif", reason="the extra `heic`")
    picture = drawn(Dice("phone"), 96, 64)
    out = io.BytesIO()
    pillow_heif.from_pillow(picture).save(out, quality=95, chroma=444)
    data = out.getvalue()
    assert psnr(decode(data), np.asarray(picture)) > 30
    header = Picture(data).header
    assert (header.width, header.height, header.format) == (96, 64, "heif")
    assert extension_mismatch("HEIC", data) is None
    with pytest.raises(ImageDecodeError, match="damaged"):
        decode(data[:400])


def test_a_heic_file_names_the_extra_that_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoding, "find_spec", lambda name: None)
    monkeypatch.setattr(decoding, "_known_formats", decoding._known_formats.__wrapped__)
    monkeypatch.delitem(Image.OPEN, "HEIF", raising=False)
    for brands in (b"heic\0\0\0\0mif1heic", b"mif1\0\0\0\0mif1heic"):
        data = struct.pack(">I", 8 + len(brands)) + b"ftyp" + brands + bytes(100)
        with pytest.raises(ImageDecodeError, match=r"HEIF.*pip install 'curator-image\[heic\]'"):
            decode(data)


@pytest.mark.parametrize(
    ("brands", "kind"),
    [
        (b"avif\0\0\0\0avifmif1miaf", "AVIF"),
        (b"mif1\0\0\0\0mif1avifmiaf", "AVIF"),
        (b"mif1\0\0\0\0mif1heic", "HEIF"),
        (b"heix\0\0\0\0mif1heix", "HEIF"),
        (b"isom\0\0\0\0isommp41", None),
    ],
)
def test_formats_with_the_same_container_are_distinguished(brands: bytes, kind: str | None) -> None:
    assert detect_format(struct.pack(">I", 8 + len(brands)) + b"ftyp" + brands) == kind


def test_transparent_areas_become_white() -> None:
    picture = Image.new("RGBA", (4, 4), (255, 0, 0, 0))
    picture.putpixel((0, 0), (255, 0, 0, 255))
    for data in (encoded(picture, "PNG"), encoded(picture.convert("P"), "PNG", transparency=0)):
        assert decode(data)[3, 3].tolist() == [255, 255, 255]
    assert decode(encoded(picture, "PNG"))[0, 0].tolist() == [255, 0, 0]


def test_sixteen_bits_keep_their_upper_eight() -> None:
    values = np.array([[0, 256, 32768, 65535]], np.uint16)
    data = encoded(Image.fromarray(values), "PNG")
    assert decode(data, View(mode="L")).tolist() == [[0, 1, 128, 255]]


def test_floating_point_ranges_from_0_to_1() -> None:
    values = np.array([[0.0, 0.5, 1.0]], np.float32)
    assert decode(encoded(Image.fromarray(values), "TIFF"), View(mode="L")).tolist() == [
        [0, 128, 255]
    ]
    wide = np.array([[-10.0, 90.0, np.nan]], np.float32)
    assert decode(encoded(Image.fromarray(wide), "TIFF"), View(mode="L")).tolist() == [[0, 255, 26]]


def test_cmyk_and_animations_give_one_rgb_picture() -> None:
    plain = drawn(Dice("cmyk"), 64, 64)
    data = encoded(plain.convert("CMYK"), quality=95)
    assert psnr(decode(data), np.asarray(plain)) > 25
    frames = [Image.new("P", (8, 8), n) for n in (3, 200)]
    moving = encoded(frames[0], "GIF", save_all=True, append_images=frames[1:])
    first = np.asarray(Image.open(io.BytesIO(moving)).convert("RGB"))
    assert np.array_equal(decode(moving), first)


def bomb(side: int) -> bytes:
    rows = zlib.compress(bytes((side // 8 + 1) * side), 9)
    head = struct.pack(">II5B", side, side, 1, 0, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", rows), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(d)) + k + d + struct.pack(">I", zlib.crc32(k + d)) for k, d in chunks
    )


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "the image is empty"),
        (b"<html>gone</html>", "it is not an image of a known format"),
        (
            bomb(13_000),
            "13000 x 13000 pixels exceed the limit of 89,478,485",
        ),
        (bomb(20_000), "it exceeds Pillow's size limit (a decompression bomb?)"),
        (encoded(drawn(Dice("cut"), 300, 300))[:3000], "damaged image: image file is truncated"),
        (
            b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n",
            "it is not an image of a known format",
        ),
    ],
)
def test_errors_say_what_is_wrong_with_the_bytes(data: bytes, reason: str) -> None:
    assert len(data) < 90_000
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ImageDecodeError) as caught:
            decode(data, View(short_side=224))
    assert str(caught.value).startswith(reason)


def a_batch() -> ImageBatch:
    data = encoded(drawn(Dice("batch"), 300, 200))
    rows = [{"key": f"k{n}", "image": data, "extension": "jpg", "source": "s"} for n in range(4)]
    rows[1]["image"] = b"no picture"
    return ImageBatch.from_pylist(rows)


def test_a_batch_decodes_once_for_all_that_follows() -> None:
    seen: list[int] = []
    first = a_batch().measure(View(short_side=100), lambda pixels: seen.append(id(pixels)))
    [one] = first.rejected
    assert (one.reason, one.where) == ("it is not an image of a known format", "s key 'k1'")
    assert (one.row, one.damaged) == (1, True)
    kept, dropped = first.batch.with_columns({"n": [0, 2, 3]}).keep([True, False, True], "odd")
    again = kept.measure(View(short_side=100), id)  # type: ignore[union-attr]
    assert again.values == [seen[0], seen[2]]
    assert [row["key"] for row in dropped.records().to_pylist()] == ["k2"]  # type: ignore[union-attr,operator]


def test_pixels_stay_in_their_process_and_with_their_picture() -> None:
    batch = a_batch().measure(View(short_side=100), id).batch
    assert batch.derived
    assert not pickle.loads(pickle.dumps(batch)).derived
    other = encoded(Image.new("RGB", (5, 5)), "PNG")
    changed = batch.with_images([other] * 3, ["png"] * 3)
    assert changed.measure(View(short_side=100), np.shape).values == [(5, 5, 3)] * 3


def test_column_filters_return_picture_batches() -> None:
    import pyarrow.compute as pc
    from curator_text import ColumnFilter, ScoreFilter

    batch = a_batch().with_columns({"txt": ["a", "b", "c", None]})
    rule = ScoreFilter([ColumnFilter(lambda texts: pc.equal(texts, "a"))], "txt")
    kept = next(one for one in rule.process(batch) if isinstance(one, ImageBatch))
    assert kept.keys == ["k0"]


def test_every_kind_of_file_decodes_or_says_why() -> None:
    failed = {"cut off", "empty", "no picture", "bomb"}
    seen = set()
    for kind, made, _ in samples(400):
        seen.add(kind)
        try:
            decode(made.data, View(short_side=64))
            assert kind not in failed
        except ImageDecodeError:
            assert kind in failed
    assert seen == set(SHARES)
