"""Figures of whole runs of the recipe: two workers against one, and memory for long videos."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from measuring.figures import Figure
from measuring.films import film_file, repeated
from measuring.timing import run_job
from video_sizes import Sizes

LEAST_WORKERS, MOST_MEMORY = 1.7, 1.1
SIZE = (640, 360)
SHOTS = (3.5, 9.0)


def workers(sizes: Sizes) -> Iterator[Figure]:
    film = film_file(min(30.0, sizes.seconds), SIZE, 6, 60, SHOTS)
    with tempfile.TemporaryDirectory() as place:
        films = Path(place) / "films"
        films.mkdir()
        for number in range(sizes.films):
            shutil.copy(film, films / f"{number:02d}.mp4")
        taken: dict[int, list[float]] = {1: [], 2: []}
        for _ in range(sizes.rounds):
            for count, seconds in taken.items():
                done = run_job("split_films.py", films, Path(place) / "out", count)
                assert done.facts["clips"] or sizes.films < 3
                seconds.append(done.facts["seconds"])
    one, two = median(taken[1]), median(taken[2])
    ratio, load = one / two, os.getloadavg()[0]
    value = f"{ratio:.2f}x ({one:.1f} s against {two:.1f} s, load {load:.1f})"
    what = f"recipe on {sizes.films} films, two workers against one"
    yield Figure(what, f">= {LEAST_WORKERS}x", value, ratio >= LEAST_WORKERS)


def memory(sizes: Sizes) -> Iterator[Figure]:
    film = film_file(min(30.0, sizes.seconds), SIZE, 6, 60, SHOTS)
    peaks = []
    with tempfile.TemporaryDirectory() as place:
        for path in (film, repeated(film, sizes.times)):
            done = run_job("split_films.py", path, Path(place) / "out", 1, watch_memory=True)
            peaks.append((done.peak_bytes / 1e6, done.facts["clips"]))
    (short, few), (long, many) = peaks
    value = f"{long / short:.2f}x ({short:.0f} MB and {few} clips, {long:.0f} MB and {many} clips)"
    what = f"memory of the recipe, a video {sizes.times} times as long"
    yield Figure(what, f"<= {MOST_MEMORY}x", value, long / short <= MOST_MEMORY)
