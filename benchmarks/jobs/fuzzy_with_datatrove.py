"""Removes near duplicates with datatrove's four steps, in one process.

IN OUT {own|whitespace} SEED
"""

import json
import sys
import time
from pathlib import Path

from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.dedup import (
    MinhashConfig,
    MinhashDedupBuckets,
    MinhashDedupCluster,
    MinhashDedupFilter,
    MinhashDedupSignature,
)
from datatrove.pipeline.readers import JsonlReader
from datatrove.pipeline.writers import JsonlWriter
from datatrove.utils.word_tokenizers import WordTokenizer
from loguru import logger

logger.remove()
folder, out, tokenizer, seed = sys.argv[1:5]
BANDS, ROWS = 14, 8
FILES = len(list(Path(folder).glob("*.jsonl")))


class AtSpaces(WordTokenizer):
    """What stands between spaces is a word."""

    def word_tokenize(self, text: str) -> list[str]:
        return text.split()

    def sent_tokenize(self, text: str) -> list[str]:
        return [text]

    def span_tokenize(self, text: str) -> list[tuple[int, int]]:
        return [(0, len(text))]


def run(name: str, tasks: int, *steps: object) -> None:
    LocalPipelineExecutor(
        pipeline=list(steps), tasks=tasks, workers=1, logging_dir=f"{out}/logs/{name}"
    ).run()


if __name__ == "__main__":
    started = time.perf_counter()
    config = MinhashConfig(n_grams=5, num_buckets=BANDS, hashes_per_bucket=ROWS, seed=int(seed))
    language = AtSpaces("en") if tokenizer == "whitespace" else "en"
    reader = JsonlReader(folder, glob_pattern="*.jsonl")
    signatures, buckets, found = (f"{out}/{name}" for name in ("signatures", "buckets", "found"))
    run("sign", FILES, reader, MinhashDedupSignature(signatures, config=config, language=language))
    run("buckets", BANDS, MinhashDedupBuckets(signatures, buckets, config=config))
    run("cluster", 1, MinhashDedupCluster(buckets, found, config=config))
    writer = JsonlWriter(f"{out}/data", output_filename="${rank}.jsonl", compression=None)
    run("filter", FILES, reader, MinhashDedupFilter(found), writer)
    seconds = time.perf_counter() - started
    kept = sum(len(path.read_bytes().splitlines()) for path in Path(out, "data").glob("*.jsonl"))
    print(json.dumps({"seconds": seconds, "kept": kept}))
