"""Cuts repeated passages out of JSON Lines, in this very process: IN OUT."""

import json
import sys
import time

from curator_core import LocalExecutor
from curator_dedup import SubstringDeduplicationWorkflow

folder, out = sys.argv[1:3]

if __name__ == "__main__":
    started = time.perf_counter()
    result = SubstringDeduplicationWorkflow(folder, out).run(LocalExecutor(workers=0))
    seconds = time.perf_counter() - started
    print(json.dumps({"seconds": seconds, **result.metadata}))
