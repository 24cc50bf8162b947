"""How long until a job shows its first output: IN OUT BEGUN (when this process was asked for)."""

import json
import sys
import time

from curator_core import LocalExecutor, Pipeline
from curator_text import JsonlReader, JsonlWriter, WordCountFilter

folder, out, begun = sys.argv[1:4]
stages = [JsonlReader(f"{folder}/*.jsonl"), WordCountFilter(), JsonlWriter(out)]

if __name__ == "__main__":
    with Pipeline("first", stages=stages).stream(LocalExecutor()) as stream:
        next(stream)
        seconds = time.time() - float(begun)
    print(json.dumps({"seconds": seconds}))
