"""Measures deduplication: `hatch run bench:dedup [--quick] [ROW …]`.

Peers run in environments of their own, in turns with us, on the same documents. What counts is the
CPU time of all processes of a job, from its start to its end. Keep the machine quiet.
"""

import sys

from dedup_exact import exact
from dedup_fuzzy import components, memory, recall, speed
from dedup_passages import passages
from dedup_semantic import semantic
from dedup_sentences import sentences
from dedup_signatures import signatures
from dedup_sizes import QUICK, Sizes
from dedup_verify import cost, verification
from measuring.rows import Row, run_rows

ROWS: dict[str, Row[Sizes]] = {
    "exact": exact,
    "fuzzy-speed": speed,
    "fuzzy-recall": recall,
    "fuzzy-memory": memory,
    "verification": verification,
    "verification-cost": cost,
    "components": components,
    "signatures": signatures,
    "passages": passages,
    "sentences": sentences,
    "semantic": semantic,
}

if __name__ == "__main__":
    sys.exit(run_rows("dedup", __doc__, ROWS, Sizes(), QUICK))
