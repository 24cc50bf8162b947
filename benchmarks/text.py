"""Measures the text package: `hatch run bench:text [--quick] [ROW …]`.

Peers run in environments of their own, in turns with us, on the same pages. What counts is the CPU
time of all processes of a job, from its start to its end. Keep the machine quiet.
"""

import sys

from measuring.rows import run_rows
from text_figures import ALL
from text_races import QUICK, Sizes

if __name__ == "__main__":
    sys.exit(run_rows("text", __doc__, ALL, Sizes(), QUICK))
