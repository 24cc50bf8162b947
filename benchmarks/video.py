"""Measures curator-video: `hatch run bench:video [--quick] [ROW …]`.

CPU seconds count, those of processes that are waited for included; both sides run in turns. Films
are rendered once, and kept in benchmarks/cache. What needs ffmpeg says so where there is none.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"  # before torch: one core each

import sys

from measuring.rows import run_rows
from video_cutting import copying, encoding, encoding_vp9
from video_looking import frames, fused, motion, probing
from video_runs import memory, workers
from video_shots import learned, shots
from video_sizes import QUICK, Sizes

ROWS = {
    "probe": probing,
    "copy": copying,
    "exact": encoding,
    "vp9": encoding_vp9,
    "fused": fused,
    "frames": frames,
    "motion": motion,
    "transnet": learned,
    "shots": shots,
    "workers": workers,
    "memory": memory,
}

if __name__ == "__main__":
    sys.exit(run_rows("video", __doc__, ROWS, Sizes(), QUICK))
