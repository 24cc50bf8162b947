"""Figures of hashes of pictures: how fast they are, and which copies they find."""

import io
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from curator_core.testing import run_stage
from curator_dedup.columns import words_in
from curator_dedup.hamming import distance_table
from curator_image.dedup.workflow import THRESHOLDS
from curator_image.hashing import PerceptualHash
from curator_image.image_batch import ImageBatch
from image_sizes import Sizes
from measuring.distortions import DISTORTIONS, FRAMES
from measuring.figures import Figure
from measuring.photographs import as_jpeg, photographs
from PIL import Image

FALSE_SHARE = 0.001
"""Of pairs of different pictures so many may count as near."""

HASH_TARGET, RECALL_TARGET = 2.5, 0.93
KINDS = ("phash", "dhash", "pdq")

Distances = npt.NDArray[np.floating]


@dataclass
class Found:
    """For one way of comparing: the distance between originals, and of each to its copies."""

    between: Distances
    copies: dict[str, Distances] = field(default_factory=dict)

    def limit(self, share: float) -> float:
        """Strictly below it no more than this share of pairs of different pictures is near."""
        upper = np.sort(self.between[np.triu_indices(len(self.between), 1)])
        return float(upper[int(share * len(upper))])


def phash(sizes: Sizes) -> Iterator[Figure]:
    yield _speed(photographs(min(30, sizes.pictures)), sizes.rounds)


def near(sizes: Sizes) -> Iterator[Figure]:
    yield from _recall(photographs(sizes.pictures))


def framed(sizes: Sizes) -> Iterator[Figure]:
    """Which copies are within the usual thresholds, where the picture itself has moved a little."""
    pictures = photographs(sizes.pictures)
    names = ("half", "jpeg30", *FRAMES)
    sets = {"": [as_jpeg(picture) for picture in pictures]}
    for name in names:
        distort = FRAMES.get(name) or DISTORTIONS[name]
        sets[name] = [as_jpeg(distort(picture)) for picture in pictures]
    for kind in KINDS:
        found = _by_hash(sets, kind)
        near = {name: float((found.copies[name] <= THRESHOLDS[kind]).mean()) for name in names}
        told = ", ".join(f"{name} {share:.2f}" for name, share in near.items())
        yield Figure(
            f"copies within {THRESHOLDS[kind]} bits: {kind}",
            "told for comparison",
            f"{told} ({len(pictures)} pictures)",
            None,
            near,
        )


def batch_of(images: Sequence[bytes]) -> ImageBatch:
    keys = [str(number) for number in range(len(images))]
    columns = {
        "key": keys,
        "image": pa.array(images, pa.binary()),
        "extension": ["jpg"] * len(keys),
    }
    return ImageBatch(pa.table(columns))


# Speed


def _speed(pictures: Sequence[Image.Image], rounds: int) -> Figure:
    import imagehash

    images = [as_jpeg(picture, 1280) for picture in pictures]
    ours, theirs = _ours(images), _theirs(images)
    hashes = map(imagehash.hex_to_hash, ours)
    apart = [int(a - b) for a, b in zip(theirs, hashes, strict=True)]  # type: ignore[operator]
    times: dict[str, list[float]] = {"ours": [], "theirs": []}
    for _ in range(rounds):  # in turns, so that both meet the same neighbours
        times["ours"].append(_cpu(lambda: _ours(images)))
        times["theirs"].append(_cpu(lambda: _theirs(images)))
    ratio = median(times["theirs"]) / median(times["ours"])
    told = f"{ratio:.2f}x, at most {max(apart)} bits ({len(images)} pictures)"
    return Figure(
        "phash from JPEG bytes at 1280, against imagehash",
        f">= {HASH_TARGET}x, <= 2 bits different",
        told,
        ratio >= HASH_TARGET and max(apart) <= 2,
        {"seconds": times, "bits": apart},
    )


def _ours(images: Sequence[bytes]) -> list[str]:
    [hashed] = PerceptualHash().process(batch_of(images))
    assert isinstance(hashed, ImageBatch)
    return [value.hex() for value in hashed.data["phash"].to_pylist()]


def _theirs(images: Sequence[bytes]) -> list["object"]:
    import imagehash

    return [imagehash.phash(Image.open(io.BytesIO(data))) for data in images]


def _cpu(work: Callable[[], object]) -> float:
    before = time.process_time()
    work()
    return time.process_time() - before


# Recall


def _recall(pictures: Sequence[Image.Image]) -> list[Figure]:
    sets = {"": [as_jpeg(picture) for picture in pictures]}
    for name, distort in DISTORTIONS.items():
        sets[name] = [as_jpeg(distort(picture)) for picture in pictures]
    by_hash = {kind: _by_hash(sets, kind) for kind in KINDS}
    rows = [_recall_row(kind, found, None, len(pictures)) for kind, found in by_hash.items()]
    try:
        vectors = _by_vector(sets)
    except Exception as error:  # noqa: BLE001 - without the model the other rows still count
        reason = f"no embedding: {type(error).__name__}: {error}"
        return [*rows, Figure("hash, then embedding", f">= {RECALL_TARGET}", reason, None)]
    rows.append(_recall_row("embedding", vectors, None, len(pictures)))
    return [*rows, _recall_row("phash, then embedding", by_hash["phash"], vectors, len(pictures))]


def _by_hash(sets: dict[str, list[bytes]], kind: str) -> Found:
    words = {}
    for name, images in sets.items():
        [hashed] = run_stage(PerceptualHash(kind), batch_of(images))  # type: ignore[arg-type]
        words[name] = words_in(hashed.data[kind])
    found = Found(distance_table(words[""], words[""]).astype(np.float64))
    for name in filter(None, sets):
        found.copies[name] = np.bitwise_count(words[""] ^ words[name]).sum(axis=1).astype(float)
    return found


def _by_vector(sets: dict[str, list[bytes]]) -> Found:
    from curator_image import ImageEmbedder

    vectors = {}
    for name, images in sets.items():
        [embedded] = run_stage(ImageEmbedder(), batch_of(images))
        vectors[name] = np.stack([np.asarray(v) for v in embedded.data["embedding"].to_pylist()])
    originals = vectors[""]
    found = Found(1 - originals @ originals.T)
    for name in DISTORTIONS:
        found.copies[name] = 1 - (originals * vectors[name]).sum(axis=1)
    return found


def _recall_row(name: str, first: Found, second: Found | None, pictures: int) -> Figure:
    """Two ways together may make no more false pairs than one: each gets half of them."""
    ways = [first] if second is None else [first, second]
    limits = [found.limit(FALSE_SHARE / len(ways)) for found in ways]
    recalls = {name: _near(ways, limits, name) for name in DISTORTIONS}
    mean = float(np.mean(list(recalls.values())))
    false = _false_share(ways, limits)
    worst = sorted(recalls, key=recalls.__getitem__)[:3]
    told = f"{mean:.3f} at {100 * false:.2f} % false pairs, {pictures} pictures"
    below = ", ".join(f"{limit:.3g}" for limit in limits)
    told += f" (below {below}; " + ", ".join(f"{one} {recalls[one]:.2f}" for one in worst)
    target = f">= {RECALL_TARGET}" if second is not None else "told for comparison"
    met = mean >= RECALL_TARGET if second is not None else None
    return Figure(f"copies under 10 distortions: {name}", target, told + ")", met, recalls)


def _near(ways: Sequence[Found], limits: Sequence[float], name: str) -> float:
    """The share of copies that any of some ways finds."""
    near = [found.copies[name] < limit for found, limit in zip(ways, limits, strict=True)]
    return float(np.any(near, axis=0).mean())


def _false_share(ways: Sequence[Found], limits: Sequence[float]) -> float:
    near = np.any(
        [found.between < limit for found, limit in zip(ways, limits, strict=True)], axis=0
    )
    upper = np.triu_indices(len(near), 1)
    return float(near[upper].mean())
