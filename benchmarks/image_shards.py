"""Figures of reading shards and decoding pictures, beside webdataset and plain Pillow."""

import io
import json
import tarfile
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from random import Random

import numpy as np
from curator_core import FileGroup, FilePart
from curator_image.decoding import decode
from curator_image.pixel_view import View
from curator_image.readers.webdataset import WebDatasetReader, WebDatasetReading
from image_sizes import Sizes
from measuring.figures import Figure
from PIL import Image

TAR_TARGETS = {10_000: 5.0, 100_000: 4.0}
JPEG_TARGETS = {1280: 1.5, 2560: 2.8}
LEAST_PSNR = 50.0
SIDE = 224


def tar(sizes: Sizes) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        for size in TAR_TARGETS:
            yield _tar(Path(folder), size, sizes)


def jpeg(sizes: Sizes) -> Iterator[Figure]:
    for side in JPEG_TARGETS:
        yield _jpeg(side, sizes)


def _tar(folder: Path, size: int, sizes: Sizes) -> Figure:
    samples = sizes.samples
    path = _shard(folder / f"{size}.tar", size, samples)
    agree = _digest(_ours(path)) == _digest(_theirs(path))  # first, and all imports with it
    ours, theirs, batches = _best([_ours, _theirs, _batches], path, sizes.rounds)
    ratio, target = theirs / ours, TAR_TARGETS[size]
    return Figure(
        f"samples of {size // 1000} kB out of a tar file, copied",
        f">= {target:g}x webdataset, the same samples",
        f"{ratio:.1f}x; as Arrow batches {theirs / batches:.1f}x" + ("" if agree else "; DIFFER"),
        agree and ratio >= target,
        {"ours_per_s": samples / ours, "webdataset_per_s": samples / theirs,
         "batches_per_s": samples / batches},
    )  # fmt: skip


def _shard(path: Path, size: int, samples: int) -> Path:
    dice = Random(size)
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as tar:
        for number in range(samples):
            picture = b"\xff\xd8\xff" + dice.randbytes(int(size * dice.uniform(0.5, 1.5)))
            facts = json.dumps({"number": number, "width": 640}).encode()
            files = (("jpg", picture), ("txt", b"caption %d" % number), ("json", facts))
            for ending, data in files:
                member = tarfile.TarInfo(f"00000/{number:09d}.{ending}")
                member.size = len(data)
                tar.addfile(member, io.BytesIO(data))
    return path


def _stage() -> WebDatasetReading:
    stage = WebDatasetReader("unused.tar").decompose()[1]
    assert isinstance(stage, WebDatasetReading)
    return stage


def _ours(path: Path) -> Iterable[tuple[str, bytes]]:
    for found in _stage().samples(FilePart(str(path))):
        yield found.key, bytes(found.image)  # type: ignore[union-attr]


def _theirs(path: Path) -> Iterable[tuple[str, bytes]]:
    import webdataset

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for found in webdataset.WebDataset(str(path), shardshuffle=False, empty_check=False):
            yield found["__key__"], found["jpg"]


def _batches(path: Path) -> Iterable[object]:
    return _stage().process(FileGroup([FilePart(str(path))]))


def _best(
    readers: Sequence[Callable[[Path], Iterable[object]]], path: Path, rounds: int
) -> list[float]:
    """The least CPU time of each, taken in turns: what disturbs only ever adds to it."""
    best = [float("inf")] * len(readers)
    for _ in range(rounds):
        for number, read in enumerate(readers):
            begun = time.process_time()
            for _found in read(path):
                pass
            best[number] = min(best[number], time.process_time() - begun)
    return best


def _digest(samples: Iterable[tuple[str, bytes]]) -> int:
    return hash(tuple((key, hash(data)) for key, data in samples))


def _jpeg(side: int, sizes: Sizes) -> Figure:
    data = [_photograph(side, seed) for seed in range(sizes.photographs)]
    view = View(short_side=SIDE)
    likeness = [_psnr(decode(one, view), _plainly(one)) for one in data]
    ours, theirs = _seconds([lambda one: decode(one, view), _plainly], data, sizes.rounds)
    worst = min(likeness)
    ratio, target = theirs / ours, JPEG_TARGETS[side]
    return Figure(
        f"JPEG of {side} pixels, decoded to {SIDE}",
        f">= {target:g}x Pillow, >= {LEAST_PSNR:g} dB each",
        f"{ratio:.1f}x, {worst:.1f} dB or more",
        ratio >= target and worst >= LEAST_PSNR,
        {"ours_per_s": len(data) / ours, "pillow_per_s": len(data) / theirs},
    )


def _photograph(side: int, seed: int) -> bytes:
    """Photographs of scikit-image at the wanted size."""
    import skimage.data

    names = ("astronaut", "coffee", "chelsea", "rocket")
    picture = Image.fromarray(getattr(skimage.data, names[seed % len(names)])())
    scale = side / max(picture.size)
    size = (round(picture.width * scale), round(picture.height * scale))
    out = io.BytesIO()
    picture.resize(size, Image.Resampling.LANCZOS).save(out, "JPEG", quality=90)
    return out.getvalue()


def _plainly(data: bytes) -> np.ndarray:
    picture = Image.open(io.BytesIO(data)).convert("RGB")
    scale = SIDE / min(picture.size)
    size = (round(picture.width * scale), round(picture.height * scale))
    return np.asarray(picture.resize(size, Image.Resampling.BICUBIC))


def _seconds(
    ways: Sequence[Callable[[bytes], object]], data: Sequence[bytes], rounds: int
) -> list[float]:
    best = [float("inf")] * len(ways)
    for _ in range(rounds):
        for number, way in enumerate(ways):
            begun = time.process_time()
            for one in data:
                way(one)
            best[number] = min(best[number], time.process_time() - begun)
    return best


def _psnr(one: np.ndarray, other: np.ndarray) -> float:
    error = np.mean((one.astype(float) - other.astype(float)) ** 2)
    return float(10 * np.log10(255**2 / max(float(error), 1e-9)))
