"""Gopher's, C4's and FineWeb's rules over a folder of jsonl.gz, to jsonl.gz: IN OUT [WORKERS].

CURATOR_TEXT_ENGINE says whether they are asked in Python or compiled.
"""

import json
import sys
import time

from curator_core import LocalExecutor, Pipeline
from curator_text import (
    C4QualityFilter,
    FineWebQualityFilter,
    GopherQualityFilter,
    GopherRepetitionFilter,
    JsonlReader,
    JsonlWriter,
)

folder, out, *more = sys.argv[1:]
workers = int(more[0]) if len(more) > 1 else 0  # what stands last is when the job began
stages = [
    JsonlReader(f"{folder}/*.jsonl.gz"),
    GopherRepetitionFilter(),
    GopherQualityFilter(),
    C4QualityFilter(filter_no_terminal_punct=False),
    FineWebQualityFilter(),
    JsonlWriter(out, compression="gz"),
]

if __name__ == "__main__":
    started = time.perf_counter()
    result = Pipeline("rules", stages=stages).run(LocalExecutor(workers=workers))
    seconds = time.perf_counter() - started
    reasons = {why: n for stage in result.stages.values() for why, n in stage.reasons.items()}
    kept = result.stages["jsonl_writer"].items_in
    print(json.dumps({"kept": kept, "reasons": reasons, "seconds": seconds}))
