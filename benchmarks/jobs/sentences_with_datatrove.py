"""Cuts repeated runs of three sentences out with datatrove's three steps, one process: IN OUT."""

import json
import sys
import time
from pathlib import Path

from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.dedup import (
    SentDedupConfig,
    SentenceDedupFilter,
    SentenceDedupSignature,
    SentenceFindDedups,
)
from datatrove.pipeline.readers import JsonlReader
from datatrove.pipeline.writers import JsonlWriter
from loguru import logger

logger.remove()
folder, out = sys.argv[1:3]
FILES = len(list(Path(folder).glob("*.jsonl")))


def run(name: str, tasks: int, *steps: object) -> None:
    LocalPipelineExecutor(
        pipeline=list(steps), tasks=tasks, workers=1, logging_dir=f"{out}/logs/{name}"
    ).run()


if __name__ == "__main__":
    started = time.perf_counter()
    config = SentDedupConfig(min_doc_words=0, min_num_sentences=0)  # as ours: nothing more goes
    reader = JsonlReader(folder, glob_pattern="*.jsonl")
    signatures, found = f"{out}/signatures", f"{out}/found"
    run("sign", FILES, reader, SentenceDedupSignature(signatures, config=config))
    run("find", 1, SentenceFindDedups(signatures, found, config=config))
    writer = JsonlWriter(f"{out}/data", output_filename="${rank}.jsonl", compression=None)
    run("filter", FILES, reader, SentenceDedupFilter(found, config), writer)
    print(json.dumps({"seconds": time.perf_counter() - started, "folder": f"{out}/data"}))
