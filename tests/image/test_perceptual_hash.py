"""The stage adds hashes of encoded pictures as a column."""

import io

import numpy as np
import pyarrow as pa
import pytest
from curator_core.testing import check_stage, run_stages
from curator_image.hashing import PerceptualHash
from curator_image.image_batch import ImageBatch
from PIL import Image


def jpeg(seed: int, size: tuple[int, int] = (1280, 960)) -> bytes:
    chance = np.random.default_rng(seed)
    clouds = Image.fromarray(chance.integers(0, 256, (9, 12, 3), np.uint8))
    sink = io.BytesIO()
    clouds.resize(size, Image.Resampling.BICUBIC).save(sink, "JPEG", quality=90)
    return sink.getvalue()


def batch_of(images: list[bytes]) -> ImageBatch:
    keys = [str(number) for number in range(len(images))]
    return ImageBatch(
        pa.table(
            {"key": keys, "image": pa.array(images, pa.binary()), "extension": ["jpg"] * len(keys)}
        )
    )


IMAGES = [jpeg(seed) for seed in range(5)]


@pytest.mark.parametrize(("kind", "width"), [("phash", 8), ("dhash", 8), ("pdq", 32)])
def test_the_stage_passes_the_stage_checks(kind: str, width: int) -> None:
    stage = PerceptualHash(kind)  # type: ignore[arg-type]
    check_stage(stage, batch_of(IMAGES[:2]))
    [output] = run_stages([stage], [batch_of(IMAGES[:2])]).outputs
    assert output.data.schema.field(kind).type == pa.binary(width)


def test_phash_of_jpeg_bytes_differs_from_imagehash_in_two_bits_at_most() -> None:
    imagehash = pytest.importorskip("imagehash")
    [output] = run_stages([PerceptualHash()], [batch_of(IMAGES)]).outputs
    for data, ours in zip(IMAGES, output.data["phash"].to_pylist(), strict=True):
        theirs = imagehash.phash(Image.open(io.BytesIO(data)))
        assert theirs - imagehash.hex_to_hash(ours.hex()) <= 2


def test_pdq_of_jpeg_bytes_is_near_that_of_the_reference() -> None:
    pdqhash = pytest.importorskip("pdqhash")
    [output] = run_stages([PerceptualHash("pdq")], [batch_of(IMAGES)]).outputs
    for data, ours in zip(IMAGES, output.data["pdq"].to_pylist(), strict=True):
        theirs, _ = pdqhash.compute(np.asarray(Image.open(io.BytesIO(data)).convert("RGB")))
        bits = np.unpackbits(np.frombuffer(ours, np.uint8))
        assert int((bits != theirs).sum()) <= 12, "its authors call 31 bits the same picture"


def test_undecodable_pictures_are_quarantined() -> None:
    run = run_stages([PerceptualHash()], [batch_of([IMAGES[0], b"x"])], on_error="quarantine")
    assert run.outputs[0].num_items == 1
    assert run.counts.items_rejected == 1


def test_an_unknown_kind_is_reported() -> None:
    assert list(PerceptualHash("phahs").check()) == [  # type: ignore[arg-type]
        "kind is 'phahs' (did you mean phash?)"
    ]
