"""The report of a run of many events: EVENTS STAGES FOLDER. It says what making it took."""

import json
import resource
import sys
import time
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
sys.path.insert(0, str(REPOSITORY / "tests" / "report"))

from curator_report.page import write_report  # noqa: E402
from reportkit import write_run  # noqa: E402 - found by the line above

events, stages, folder = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])

if __name__ == "__main__":
    if not folder.exists():
        write_run(folder, stages=stages, events=events)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started, cpu = time.perf_counter(), time.process_time()
    page = Path(write_report(str(folder)))
    facts = {
        "seconds": time.perf_counter() - started,
        "cpu_s": time.process_time() - cpu,
        "page_bytes": page.stat().st_size,
        "grown": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024,
    }
    print(json.dumps(facts))
