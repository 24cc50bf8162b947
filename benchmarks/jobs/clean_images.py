"""Cleans shards of pictures: reads, filters, hashes and writes them with so many workers."""

import json
import shutil
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))

from corpus.shards import write
from curator_core import LocalExecutor, Pipeline
from curator_image import WebDatasetReader, WebDatasetWriter
from curator_image.filters.quality import BlurFilter
from curator_image.filters.size import SizeFilter
from curator_image.hashing import PerceptualHash


def main() -> None:
    folder, (workers, shards, each) = Path(sys.argv[1]), map(int, sys.argv[2:5])
    raw = folder / f"raw-{shards}-{each}"
    if not raw.exists():  # the same few pictures again and again: making them is not what counts
        [first] = write(raw, 1, each)
        for number in range(1, shards):
            shutil.copy(first, raw / f"{number:05d}.tar")
    clean = folder / "clean"
    shutil.rmtree(clean, ignore_errors=True)
    stages = [
        WebDatasetReader(str(raw / "*.tar")),
        SizeFilter(min_side=128),
        BlurFilter(min_sharpness=40),
        PerceptualHash(),
        WebDatasetWriter(str(clean)),
    ]
    begun = time.perf_counter()
    result = Pipeline("clean", stages=stages).run(LocalExecutor(workers=workers))
    seconds = time.perf_counter() - begun
    kept = result.stages["perceptual_hash"].items_out
    print(json.dumps({"seconds": seconds, "kept": kept}))


if __name__ == "__main__":
    main()
