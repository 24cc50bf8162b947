"""Measures how shards are read and pictures decoded, beside webdataset and plain Pillow.

Part of `hatch run bench:image`; by itself: `python benchmarks/image_shards.py [--quick]`.
"""

import io
import json
import sys
import tarfile
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from random import Random

import numpy as np
from curator_core import FileGroup, FilePart
from curator_image.decoding import decode
from curator_image.shards.reading import WebDatasetReader, WebDatasetReading
from curator_image.views import View
from measuring.figures import Figure, show
from measuring.timing import run_job
from PIL import Image

TAR_TARGETS = {10_000: 5.0, 100_000: 4.0}
JPEG_TARGETS = {1280: 1.5, 2560: 2.8}
LEAST_PSNR = 50.0
WORKERS_TARGET, MEMORY_TARGET = 1.7, 1.25
ROUNDS = 9
SIDE = 224


def figures(quick: bool = False) -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        found = [_tar(Path(folder), size, 200 if quick else 3000) for size in TAR_TARGETS]
        found += [_jpeg(side, 2 if quick else 12) for side in JPEG_TARGETS]
        found.append(_workers(Path(folder) / "recipe", quick))
        found.append(_memory(Path(folder) / "memory", quick))
    return found


def _tar(folder: Path, size: int, samples: int) -> Figure:
    path = _shard(folder / f"{size}.tar", size, samples)
    ours, theirs, batches = _best([_ours, _theirs, _batches], path)
    agree = _digest(_ours(path)) == _digest(_theirs(path))
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


def _best(readers: Sequence[Callable[[Path], Iterable[object]]], path: Path) -> list[float]:
    """The least CPU time of each, taken in turns: what disturbs only ever adds to it."""
    best = [float("inf")] * len(readers)
    for _ in range(ROUNDS):
        for number, read in enumerate(readers):
            begun = time.process_time()
            for _found in read(path):
                pass
            best[number] = min(best[number], time.process_time() - begun)
    return best


def _digest(samples: Iterable[tuple[str, bytes]]) -> int:
    return hash(tuple((key, hash(data)) for key, data in samples))


def _jpeg(side: int, pictures: int) -> Figure:
    data = [_photograph(side, seed) for seed in range(pictures)]
    view = View(short_side=SIDE)
    ours, theirs = _seconds([lambda one: decode(one, view), _plainly], data)
    likeness = [_psnr(decode(one, view), _plainly(one)) for one in data]
    mean = sum(likeness) / len(likeness)
    ratio, target = theirs / ours, JPEG_TARGETS[side]
    return Figure(
        f"JPEG of {side} pixels, decoded to {SIDE}",
        f">= {target:g}x Pillow, >= {LEAST_PSNR:g} dB in the mean",
        f"{ratio:.1f}x, {mean:.0f} dB (the worst {min(likeness):.0f})",
        ratio >= target and mean >= LEAST_PSNR,
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


def _seconds(ways: Sequence[Callable[[bytes], object]], data: Sequence[bytes]) -> list[float]:
    best = [float("inf")] * len(ways)
    for _ in range(ROUNDS):
        for number, way in enumerate(ways):
            begun = time.process_time()
            for one in data:
                way(one)
            best[number] = min(best[number], time.process_time() - begun)
    return best


def _psnr(one: np.ndarray, other: np.ndarray) -> float:
    error = np.mean((one.astype(float) - other.astype(float)) ** 2)
    return float(10 * np.log10(255**2 / max(float(error), 1e-9)))


def _workers(folder: Path, quick: bool) -> Figure:
    """The wall time decides here; on a machine that does other things it says nothing."""
    each = 20 if quick else 300
    took = {n: min(_recipe(folder, n, 8, each)[0] for _ in range(2)) for n in (1, 2)}
    ratio = took[1] / took[2]
    return Figure(
        "read, filter, hash and write with two workers",
        f">= {WORKERS_TARGET:g}x one worker",
        f"{ratio:.2f}x ({took[1]:.1f} s and {took[2]:.1f} s)",
        ratio >= WORKERS_TARGET,
    )


def _memory(folder: Path, quick: bool) -> Figure:
    few, many = (1, 4) if quick else (2, 40)
    peaks = [_recipe(folder, 1, shards, 20 if quick else 100)[1] for shards in (few, many)]
    ratio = peaks[1] / peaks[0]
    return Figure(
        f"memory with {many // few}x the shards",
        f"<= {MEMORY_TARGET:g}x",
        f"{ratio:.2f}x ({peaks[0] / 1e6:.0f} and {peaks[1] / 1e6:.0f} MB)",
        ratio <= MEMORY_TARGET,
    )


def _recipe(folder: Path, workers: int, shards: int, each: int) -> tuple[float, int]:
    outcome = run_job("clean_images.py", folder, workers, shards, each, watch_memory=True)
    return float(outcome.facts["seconds"]), outcome.peak_bytes


if __name__ == "__main__":
    show(figures("--quick" in sys.argv))
