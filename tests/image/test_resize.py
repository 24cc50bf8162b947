"""Pictures are scaled, cropped, padded and re-encoded only if needed."""

import io
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
from curator_core import AnyStage
from curator_core.testing import check_stage, run_stages
from curator_image.aspect_buckets import AspectBucketing, Buckets
from curator_image.image_batch import ImageBatch
from curator_image.resize import Fit, ImageReencoder, ImageResizer, compute_fit
from PIL import Image

Problems = Callable[[AnyStage], list[str]]

HALVES = Image.new("RGB", (400, 200), "red")
HALVES.paste("blue", (200, 0, 400, 200))


def encoded(picture: Image.Image, kind: str = "JPEG", **options: object) -> bytes:
    sink = io.BytesIO()
    picture.save(sink, kind, **options)
    return sink.getvalue()


def batch_of(*images: bytes, extension: str = "jpg") -> ImageBatch:
    return ImageBatch(
        pa.table(
            {
                "key": [str(number) for number in range(len(images))],
                "image": pa.array(images, pa.binary()),
                "extension": [extension] * len(images),
            }
        )
    )


def only(stage: object, *images: bytes, extension: str = "jpg") -> tuple[Image.Image, str, bytes]:
    batch = batch_of(*images, extension=extension)
    [output] = run_stages([stage], [batch]).outputs  # type: ignore[list-item]
    row = output.to_pylist()[0]
    return Image.open(io.BytesIO(row["image"])), row["extension"], row["image"]


@pytest.mark.parametrize(
    ("mode", "size", "expected"),
    [
        ("keep_ratio", 100, (200, 100)),
        ("keep_ratio_largest", 100, (100, 50)),
        ("center_crop", 100, (100, 100)),
        ("center_crop", [50, 100], (50, 100)),
        ("border", 100, (100, 100)),
        ("stretch", [30, 70], (30, 70)),
    ],
)
def test_sizes(mode: str, size: object, expected: tuple[int, int]) -> None:
    stage = ImageResizer(size, mode)  # type: ignore[arg-type]
    picture, extension, _ = only(stage, encoded(HALVES))
    assert (picture.size, picture.format, extension) == (expected, "JPEG", "jpg")
    check_stage(stage, batch_of(encoded(HALVES)))


def test_crops_are_central_and_borders_white() -> None:
    picture, _, _ = only(ImageResizer(100, "center_crop", format="png"), encoded(HALVES))
    assert picture.getpixel((10, 50))[0] > 200 > 50 > picture.getpixel((10, 50))[2]  # type: ignore[index]
    assert picture.getpixel((90, 50))[2] > 200  # type: ignore[index]
    picture, _, _ = only(ImageResizer(100, "border", format="png"), encoded(HALVES))
    assert picture.getpixel((50, 5)) == (255, 255, 255)
    assert picture.getpixel((50, 95)) == (255, 255, 255)
    assert picture.getpixel((10, 50))[0] > 200 > 50 > picture.getpixel((10, 50))[2]  # type: ignore[index]


def test_small_pictures_keep_their_bytes_unless_enlarged() -> None:
    data = encoded(HALVES)
    assert only(ImageResizer(300), data)[2] == data
    assert only(ImageResizer(300, enlarge=True), data)[0].size == (600, 300)
    assert only(ImageResizer([500, 500], "stretch"), data)[2] == data
    assert only(ImageResizer(300, "center_crop"), data)[0].size == (300, 200)
    assert only(ImageResizer([500, 300], "border"), data)[0].size == (500, 300)


def test_a_turned_picture_is_resized_upright() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    picture, _, _ = only(ImageResizer(100), encoded(HALVES, exif=exif))
    assert picture.size == (100, 200)
    assert not picture.getexif()
    assert picture.getpixel((50, 10))[0] > 200  # type: ignore[index]


def test_pictures_that_have_the_format_keep_their_bytes() -> None:
    data = encoded(HALVES)
    assert only(ImageReencoder(), data)[2] == data
    picture, extension, _ = only(ImageReencoder(), encoded(HALVES, "PNG"), extension="left.PNG")
    assert (picture.format, extension) == ("JPEG", "left.jpg")
    check_stage(ImageReencoder(format="webp"), batch_of(data))


def test_other_formats_become_png() -> None:
    picture, extension, _ = only(ImageResizer(50), encoded(HALVES, "BMP"), extension="bmp")
    assert (picture.format, extension) == ("PNG", "png")


def test_lower_quality_is_smaller() -> None:
    chance = np.random.default_rng(1).integers(0, 256, (200, 200, 3), np.uint8)
    data = encoded(Image.fromarray(chance), "PNG")
    sizes = [len(only(ImageReencoder(quality=quality), data)[2]) for quality in (95, 60)]
    assert sizes[0] > 1.5 * sizes[1]


def test_undecodable_pictures_are_quarantined_alone() -> None:
    run = run_stages([ImageResizer(50)], [batch_of(b"x", encoded(HALVES))], on_error="quarantine")
    assert run.outputs[0].keys == ["1"]
    assert run.counts.items_rejected == 1


def test_wrong_options_are_reported(problems: Problems) -> None:
    assert problems(ImageResizer([5, 5])) == ["size is [5, 5]"]
    assert "must be a number of pixels" in next(iter(ImageResizer(0).check()))
    assert "did you mean border?" in next(iter(ImageResizer(mode="boder").check()))  # type: ignore[arg-type]
    assert "quality is 0" in next(iter(ImageResizer(quality=0).check()))
    assert "did you mean jpeg?" in next(iter(ImageReencoder(format="jepg").check()))  # type: ignore[arg-type]
    assert "side must be step or more" in next(iter(AspectBucketing(32).check()))


def test_extreme_pictures_have_one_pixel_at_least() -> None:
    assert compute_fit((5000, 3), (100, 100), "border", enlarge=False) == Fit((100, 1), (100, 100))


def test_buckets_have_about_the_same_number_of_pixels() -> None:
    buckets = Buckets(1024, 64, 2.0)
    assert (1024, 1024) in buckets.sizes
    assert (832, 1216) in buckets.sizes
    for width, height in buckets.sizes:
        assert width % 64 == height % 64 == 0
        assert 0.85 * 1024**2 <= width * height <= 1024**2
        assert max(width, height) <= 2 * min(width, height)
        assert (height, width) in buckets.sizes


def test_each_picture_gets_the_nearest_bucket() -> None:
    pictures = [Image.new("RGB", size) for size in ((900, 900), (1600, 900), (50, 900))]
    batch = batch_of(*[encoded(picture) for picture in pictures])
    stage = AspectBucketing(512)
    check_stage(stage, batch)
    [output] = run_stages([stage], [batch]).outputs
    assert output.data["bucket"].to_pylist() == ["512x512", "640x384", "384x640"]
    assert output.data["image"].equals(batch.data["image"])


def test_with_resize_pictures_are_as_large_as_their_bucket() -> None:
    stage = AspectBucketing(256, 32, resize=True)
    [output] = run_stages(
        [stage], [batch_of(encoded(HALVES), encoded(Image.new("RGB", (70, 90))))]
    ).outputs
    for row in output.to_pylist():
        size = Image.open(io.BytesIO(row["image"])).size
        assert size == (row["bucket_width"], row["bucket_height"])
