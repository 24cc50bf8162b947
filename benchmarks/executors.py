"""Measures the Ray Data and actor-pool executors: `hatch run bench:executors [--quick] [ROW …]`.

Every run is a process of its own with a Ray of its own, engines take turns, and the median counts.
Keep the machine quiet. All of it takes about ten minutes.
"""

import sys

from executors_actor_pool import ROWS as ACTOR_POOL_ROWS
from executors_ray_data import ROWS as RAY_DATA_ROWS
from executors_sizes import QUICK, Sizes
from measuring.rows import run_rows

if __name__ == "__main__":
    sys.exit(run_rows("executors", __doc__, RAY_DATA_ROWS | ACTOR_POOL_ROWS, Sizes(), QUICK))
