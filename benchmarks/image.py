"""Measures curator-image: `hatch run bench:image [--quick] [ROW …]`.

CPU seconds count, but for two workers, where it is the wall time; each peer runs in turns with us.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"  # before torch: one core each

import sys

from image_hashes import framed, near, phash
from image_models import harmless, models
from image_runs import memory, workers
from image_shards import jpeg, tar
from image_sizes import QUICK, Sizes
from measuring.rows import run_rows

ROWS = {
    "tar": tar,
    "jpeg": jpeg,
    "phash": phash,
    "near": near,
    "framed": framed,
    "models": models,
    "harmless": harmless,
    "workers": workers,
    "memory": memory,
}

if __name__ == "__main__":
    sys.exit(run_rows("image", __doc__, ROWS, Sizes(), QUICK))
