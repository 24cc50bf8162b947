"""Removes exact duplicates with datatrove's three steps, one process: IN OUT."""

import json
import sys
import time
from pathlib import Path

from datatrove.data import Document
from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.dedup import (
    ExactDedupConfig,
    ExactDedupFilter,
    ExactDedupSignature,
    ExactFindDedups,
)
from datatrove.pipeline.readers import JsonlReader
from datatrove.pipeline.writers import JsonlWriter
from loguru import logger

logger.remove()
folder, out = sys.argv[1:3]
FILES = len(list(Path(folder).glob("*.jsonl")))


def text_of(document: Document) -> bytes:
    """Bytes, since xxhash takes no text any more."""
    return document.text.encode()


def run(name: str, tasks: int, *steps: object) -> None:
    LocalPipelineExecutor(
        pipeline=list(steps), tasks=tasks, workers=1, logging_dir=f"{out}/logs/{name}"
    ).run()


if __name__ == "__main__":
    started = time.perf_counter()
    config = ExactDedupConfig(content_getter=text_of)
    reader = JsonlReader(folder, glob_pattern="*.jsonl")
    signatures, found = f"{out}/signatures", f"{out}/found"
    run("sign", FILES, reader, ExactDedupSignature(signatures, config, finder_workers=1))
    run("find", 1, ExactFindDedups(signatures, found, config))
    writer = JsonlWriter(f"{out}/data", output_filename="${rank}.jsonl", compression=None)
    run("filter", FILES, reader, ExactDedupFilter(found, config), writer)
    seconds = time.perf_counter() - started
    kept = sum(len(path.read_bytes().splitlines()) for path in Path(out, "data").glob("*.jsonl"))
    print(json.dumps({"seconds": seconds, "kept": kept}))
