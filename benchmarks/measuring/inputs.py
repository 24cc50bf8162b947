"""Inputs: JSON lines of the demo's raw corpus, as many megabytes as are wanted."""

import json
import sys
from hashlib import blake2b
from itertools import cycle
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
sys.path.insert(0, str(REPOSITORY / "examples"))

import corpus  # noqa: E402 - found by the line above

DISTINCT = 4000


def jsonl_files(folder: Path, files: int, megabytes: float) -> Path:
    """`files` files of `megabytes` together. The documents repeat; their ids and URLs do not."""
    folder.mkdir(parents=True)
    documents = cycle(list(corpus.documents(DISTINCT)))
    wanted = int(megabytes * 1_000_000 / files)
    number = 0
    for place in range(files):
        written = 0
        with open(folder / f"raw-{place:03d}.jsonl", "wb") as out:
            while written < wanted:
                one = {"id": f"{number:09d}", **next(documents)}
                line = json.dumps(one, ensure_ascii=False).encode() + b"\n"
                out.write(line)
                written += len(line)
                number += 1
    return folder


def fingerprint_of(folder: Path) -> tuple[int, int]:
    """How many documents there are, and what they say, in whatever order and files they stand."""
    total = number = 0
    for path in sorted(folder.rglob("*.jsonl")):
        if ".curator" in path.parts:
            continue
        with open(path, "rb") as lines:
            for line in lines:
                one = json.loads(line)
                said = f"{one['id']} {one['text']}".encode()
                total += int.from_bytes(blake2b(said, digest_size=8).digest())
                number += 1
    return number, total
