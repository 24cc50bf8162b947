"""Shards of pictures: what is in them, in which shares, and what is wrong with some of it.

    python -m corpus.shards raw_images --shards 4 --samples 200

`planted` in the .json of each sample names what it is.
"""

import argparse
import io
import json
import tarfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from PIL import Image

from corpus.drawing import Dice, English
from corpus.pictures import blank, blurred, drawn

EDITION = 1  # counts up when the same arguments make other pictures

SHARES = {
    "good picture": 62,
    "exact duplicate": 6,
    "near duplicate": 6,
    "small picture": 4,
    "thin picture": 3,
    "blurred": 4,
    "blank": 3,
    "turned by EXIF": 2,
    "transparent": 2,
    "16 bits": 1,
    "CMYK": 1,
    "animated": 1,
    "cut off": 1,
    "empty": 1,
    "no picture": 1,
    "named wrongly": 1,
    "bomb": 1,
}
"""How many of a hundred samples are of each kind."""


class Made(NamedTuple):
    """A sample: the encoded picture, what its name ends in, and the picture itself."""

    data: bytes
    ending: str
    picture: Image.Image | None = None


def samples(number: int, seed: int = 1) -> Iterator[tuple[str, Made, str]]:
    """What was planted, the sample and its caption; the same kinds for the same arguments."""
    dice = Dice(f"pictures/{EDITION}/{seed}")
    english = English(dice)
    lots = [kind for kind, share in SHARES.items() for _ in range(share)]
    good: list[Made] = []
    for _ in range(number):
        kind = dice.one_of(lots)
        if kind.endswith("duplicate") and not good:
            kind = "good picture"
        made = _made(kind, dice, good)
        if kind == "good picture":
            good.append(made)
        yield kind, made, f"a picture of {english.thing()}"


def _made(kind: str, dice: Dice, good: list[Made]) -> Made:
    if kind.endswith("duplicate"):
        original = good[dice.below(len(good))]
        return original if kind == "exact duplicate" else _like(original)
    side = dice.between(320, 640)
    return _MAKERS[kind](dice, side)


def _encoded(picture: Image.Image, kind: str = "JPEG", **options: object) -> bytes:
    out = io.BytesIO()
    picture.save(out, kind, **options)
    return out.getvalue()


def _jpeg(picture: Image.Image, **options: object) -> Made:
    return Made(_encoded(picture, quality=88, **options), "jpg", picture)


def _like(original: Made) -> Made:
    """The same picture, smaller and pressed harder."""
    picture = original.picture or Image.open(io.BytesIO(original.data))
    smaller = picture.resize((picture.width * 3 // 4, picture.height * 3 // 4))
    return Made(_encoded(smaller, quality=60), "jpg")


def _good(dice: Dice, side: int) -> Made:
    return _jpeg(drawn(dice, side, side * dice.between(60, 140) // 100))


def _turned(dice: Dice, side: int) -> Made:
    exif = Image.Exif()
    exif[0x0112] = 6
    return _jpeg(drawn(dice, side, side * 3 // 4), exif=exif)


def _transparent(dice: Dice, side: int) -> Made:
    picture = drawn(dice, side, side)
    picture.putalpha(Image.linear_gradient("L").resize(picture.size))
    return Made(_encoded(picture, "PNG"), "png")


def _sixteen_bits(dice: Dice, side: int) -> Made:
    grey = drawn(dice, side, side).convert("L")
    wide = Image.frombytes("I;16", grey.size, bytes(b for v in grey.tobytes() for b in (0, v)))
    return Made(_encoded(wide, "PNG"), "png")


def _animated(dice: Dice, side: int) -> Made:
    frames = [drawn(dice, side, side).convert("P") for _ in range(3)]
    return Made(_encoded(frames[0], "GIF", save_all=True, append_images=frames[1:]), "gif")


def _cut_off(dice: Dice, side: int) -> Made:
    data = _good(dice, side).data
    return Made(data[: len(data) // 2], "jpg")


def bomb(dice: Dice, side: int) -> Made:
    """A PNG of some kilobytes that would unpack to 169 megapixels."""
    side = 13_000
    rows = zlib.compress(bytes((side // 8 + 1) * side), 9)
    head = side.to_bytes(4, "big") * 2 + bytes((1, 0, 0, 0, 0))
    chunks = ((b"IHDR", head), (b"IDAT", rows), (b"IEND", b""))
    return Made(b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*one) for one in chunks), "png")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")


_MAKERS: dict[str, Callable[[Dice, int], Made]] = {
    "good picture": _good,
    "small picture": lambda dice, _: _jpeg(drawn(dice, 48, 40)),
    "thin picture": lambda dice, side: _jpeg(drawn(dice, side * 2, side // 4)),
    "blurred": lambda dice, side: _jpeg(blurred(drawn(dice, side, side))),
    "blank": lambda dice, side: _jpeg(blank(dice, side, side)),
    "turned by EXIF": _turned,
    "transparent": _transparent,
    "16 bits": _sixteen_bits,
    "CMYK": lambda dice, side: _jpeg(drawn(dice, side, side).convert("CMYK")),
    "animated": _animated,
    "cut off": _cut_off,
    "empty": lambda dice, _: Made(b"", "jpg"),
    "no picture": lambda dice, _: Made(b"<html>not found</html>", "jpg"),
    "named wrongly": lambda dice, side: Made(_encoded(drawn(dice, side, side), "PNG"), "jpg"),
    "bomb": bomb,
}


def write(folder: Path, shards: int = 4, each: int = 100, seed: int = 1) -> list[Path]:
    """Shards of samples with a caption and some facts beside each picture."""
    folder.mkdir(parents=True, exist_ok=True)
    made = samples(shards * each, seed)
    paths = [folder / f"{number:05d}.tar" for number in range(shards)]
    for number, path in enumerate(paths):
        with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as shard:
            for place in range(each):
                kind, picture, caption = next(made)
                facts = json.dumps({"planted": kind, "caption": caption}).encode()
                key = f"{number:05d}/{place:06d}"
                _add(shard, f"{key}.{picture.ending}", picture.data)
                _add(shard, f"{key}.txt", caption.encode())
                _add(shard, f"{key}.json", facts)
    return paths


def _add(shard: tarfile.TarFile, name: str, data: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(data)
    shard.addfile(member, io.BytesIO(data))


def main() -> None:
    parser = argparse.ArgumentParser(description="Makes shards of pictures to try things on.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--shards", type=int, default=4)
    parser.add_argument("--samples", type=int, default=100, help="in each shard")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    paths = write(given.folder, given.shards, given.samples, given.seed)
    print(f"{len(paths)} shards of {given.samples} samples in {given.folder}")


if __name__ == "__main__":
    main()
