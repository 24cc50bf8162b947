"""Gopher's, C4's and FineWeb's rules over a folder of jsonl.gz, to jsonl.gz: IN OUT."""

import json
import sys

from curator_core import Pipeline
from curator_core.local.executor import LocalExecutor
from curator_text import (
    C4QualityFilter,
    FineWebQualityFilter,
    GopherQualityFilter,
    GopherRepetitionFilter,
    JsonlReader,
    JsonlWriter,
)

folder, out = sys.argv[1:3]
stages = [
    JsonlReader(f"{folder}/*.jsonl.gz"),
    GopherRepetitionFilter(),
    GopherQualityFilter(),
    C4QualityFilter(filter_no_terminal_punct=False),
    FineWebQualityFilter(),
    JsonlWriter(out, compression="gz"),
]

if __name__ == "__main__":
    result = Pipeline("rules", stages=stages).run(LocalExecutor(workers=0))
    reasons = {why: n for stage in result.stages.values() for why, n in stage.reasons.items()}
    kept = result.stages["jsonl_writer"].items_in
    print(json.dumps({"kept": kept, "reasons": reasons}))
