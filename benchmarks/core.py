"""Measures the foundation: `hatch run bench:core [--quick] [ROW …]`.

Everything runs in processes of its own, in turns, and the median counts. Keep the machine quiet.
"""

import sys

from core_figures import ALL, QUICK, Sizes
from measuring.rows import run_rows

if __name__ == "__main__":
    rows = {name: lambda sizes, row=row: [row(sizes)] for name, row in ALL.items()}
    sys.exit(run_rows("core", __doc__, rows, Sizes(), QUICK))
