"""Sorts all suffixes of the texts of JSON Lines, with their common prefixes: IN OUT.

It stops where repeats would be looked for, so it does less than the whole work.
"""

import json
import sys
import time
from pathlib import Path

from pydivsufsort import divsufsort, kasai

folder = Path(sys.argv[1])

if __name__ == "__main__":
    started = time.perf_counter()
    texts = [
        json.loads(line)["text"]
        for file in sorted(folder.glob("*.jsonl"))
        for line in file.read_text().splitlines()
    ]
    raw = "\0".join(texts).encode()
    prefixes = kasai(raw, divsufsort(raw))
    seconds = time.perf_counter() - started
    print(json.dumps({"seconds": seconds, "bytes": len(prefixes)}))
