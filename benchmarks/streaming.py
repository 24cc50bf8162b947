"""Measures the streaming executor and its peers: `hatch run bench:streaming [--quick] [ROW …]`.

Every run is a process of its own with a Ray of its own, engines take turns, and the median counts.
Keep the machine quiet. All of it takes about a quarter of an hour.
"""

import sys

from measuring.rows import run_rows
from streaming_burdens import deaths, memory, simulation, spill, text
from streaming_engines import NOTES
from streaming_races import cold, faults, jump, mixed, tiny
from streaming_sizes import QUICK, Sizes

ROWS = {
    row.__name__: row
    for row in (mixed, cold, tiny, jump, memory, spill, deaths, text, faults, simulation)
}

if __name__ == "__main__":
    note = "\n".join(f"{engine}: {said}." for engine, said in NOTES.items())
    sys.exit(run_rows("streaming", __doc__, ROWS, Sizes(), QUICK, note))
