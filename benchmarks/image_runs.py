"""Figures of whole runs of the recipe: two workers against one, and memory for many shards."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from image_sizes import Sizes
from measuring.figures import Figure
from measuring.timing import in_turns, run_job

LEAST_WORKERS, MOST_MEMORY = 1.7, 1.1
FEW = 2
"""Shards that memory is compared with."""


def workers(sizes: Sizes) -> Iterator[Figure]:
    """The wall time decides here; on a machine that does other things it says nothing."""
    with tempfile.TemporaryDirectory() as place:

        def seconds(count: int) -> float:
            done = run_job("clean_images.py", Path(place), count, sizes.shards, sizes.each)
            return float(done.facts["seconds"])

        seconds(1)  # draws the shards
        jobs = {str(count): lambda count=count: seconds(count) for count in (1, 2)}
        taken, all_of_them = in_turns(jobs, sizes.rounds)
    ratio, load = taken["1"] / taken["2"], os.getloadavg()[0]
    yield Figure(
        f"read, filter, hash and write {sizes.shards} shards, two workers against one",
        f">= {LEAST_WORKERS:g}x",
        f"{ratio:.2f}x ({taken['1']:.1f} s against {taken['2']:.1f} s, load {load:.1f})",
        ratio >= LEAST_WORKERS,
        {"seconds": all_of_them},
    )


def memory(sizes: Sizes) -> Iterator[Figure]:
    each = max(20, sizes.each // 3)
    with tempfile.TemporaryDirectory() as place:
        peaks = [
            run_job("clean_images.py", Path(place), 1, count, each, watch_memory=True).peak_bytes
            for count in (FEW, FEW * sizes.times)
        ]
    ratio = peaks[1] / peaks[0]
    yield Figure(
        f"memory with {sizes.times} times the shards",
        f"<= {MOST_MEMORY:g}x",
        f"{ratio:.2f}x ({peaks[0] / 1e6:.0f} and {peaks[1] / 1e6:.0f} MB)",
        ratio <= MOST_MEMORY,
    )
