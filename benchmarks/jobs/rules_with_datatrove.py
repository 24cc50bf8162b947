"""The same rules with datatrove, given our words and sentences or its own: IN OUT {ours|own}.

It needs PYTHONPATH at packages/text/src and at benchmarks/peers.
"""

import json
import sys
from pathlib import Path

from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.filters import (
    C4QualityFilter,
    FineWebQualityFilter,
    GopherQualityFilter,
    GopherRepetitionFilter,
)
from datatrove.pipeline.readers import JsonlReader
from datatrove.pipeline.writers import JsonlWriter
from datatrove_rules import Ours
from loguru import logger

logger.remove()
folder, out, tokenizer = sys.argv[1:4]
words = {"language": Ours("whitespace") if tokenizer == "ours" else "en"}
executor = LocalPipelineExecutor(
    pipeline=[
        JsonlReader(folder, glob_pattern="*.jsonl.gz"),
        GopherRepetitionFilter(**words),
        GopherQualityFilter(**words),
        C4QualityFilter(filter_no_terminal_punct=False, **words),
        FineWebQualityFilter(**words),
        JsonlWriter(f"{out}/data"),
    ],
    tasks=1,
    workers=1,
    logging_dir=f"{out}/logs",
)

if __name__ == "__main__":
    executor.run()
    steps = json.loads((Path(out) / "logs" / "stats.json").read_text())
    reasons = {
        name.removeprefix("dropped_"): count if isinstance(count, int) else count["total"]
        for step in steps
        for name, count in step["stats"].items()
        if name.startswith("dropped_")
    }
    print(json.dumps({"kept": steps[-1]["stats"]["total"], "reasons": reasons}))
