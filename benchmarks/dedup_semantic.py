"""Figures of semantic deduplication: all pairs of clusters against plain numpy, and memory."""

from collections.abc import Iterator
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from dedup_sizes import Sizes
from measuring.figures import Figure
from measuring.peers import CACHE
from measuring.timing import Outcome, in_turns, run_job

TARGET = 0.8
EPS = 0.01
SEED = 3
FILES = 8

_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def semantic(sizes: Sizes) -> Iterator[Figure]:
    source = corpus(sizes)
    with TemporaryDirectory(prefix="semantic-") as desk:
        whole = _whole(source, Path(desk), sizes)
        assignments = Path(desk, "out/.curator/semantic_deduplication/assignments")
        yield from _compared(assignments, Path(desk), sizes)
        yield _as_figure(whole, sizes)


def _whole(source: Path, desk: Path, sizes: Sizes) -> Outcome:
    return run_job(
        "semantic_with_curator.py", source, desk / "out", sizes.clusters, EPS, sizes.partitions,
        watch_memory=True, environment=_ONE_THREAD,
    )  # fmt: skip


def _as_figure(whole: Outcome, sizes: Sizes) -> Figure:
    vectors = sizes.vectors * sizes.dimension * 4
    value = f"{whole.cpu_s:.1f} CPU-s, {whole.peak_bytes / 1e6:.0f} MB at most"
    what = f"semantic, {sizes.vectors:,} x {sizes.dimension} of {vectors / 1e6:.0f} MB, all steps"
    return Figure(what, "told only", value, None, dict(whole.facts))


def _compared(assignments: Path, desk: Path, sizes: Sizes) -> Iterator[Figure]:
    outcomes: dict[str, list[Outcome]] = {"curator": [], "numpy": []}

    def job(who: str) -> float:
        out = desk / who
        rmtree(out, ignore_errors=True)
        done = run_job(
            "compare_clusters.py", who, assignments, sizes.partitions, EPS, out,
            watch_memory=True, environment=_ONE_THREAD,
        )  # fmt: skip
        outcomes[who].append(done)
        return done.cpu_s

    medians, measured = in_turns({who: lambda who=who: job(who) for who in outcomes}, sizes.rounds)
    digests = {done.facts["digest"] for dones in outcomes.values() for done in dones}
    ratio = medians["numpy"] / medians["curator"]
    peaks = {who: max(done.peak_bytes for done in dones) for who, dones in outcomes.items()}
    value = f"{ratio:.2f}x numpy's speed, the same removed"
    if len(digests) > 1:
        value = "what is removed differs"
    details = {**measured, "peak_bytes": peaks}
    what = f"semantic, all pairs of {sizes.clusters} clusters"
    yield Figure(what, f">= {TARGET}x, identical", value, ratio >= TARGET and len(digests) == 1,
                 details)  # fmt: skip
    told = f"{peaks['curator'] / 1e6:.0f} MB against {peaks['numpy'] / 1e6:.0f} MB"
    yield Figure("memory of that", "no more than numpy's", told,
                 peaks["curator"] <= peaks["numpy"], details)  # fmt: skip


def corpus(sizes: Sizes) -> Path:
    """Vectors around middles, clusters of unlike sizes, a third of them near others."""
    folder = CACHE / f"vectors-1-{sizes.vectors}-{sizes.dimension}-{sizes.clusters}"
    if (folder / "ready").exists():
        return folder
    rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    random = np.random.default_rng(SEED)
    middles = random.normal(size=(sizes.clusters, sizes.dimension))
    shares = random.dirichlet(np.full(sizes.clusters, 2.0))
    own = random.choice(sizes.clusters, size=sizes.vectors, p=shares)
    rows = middles[own] + random.normal(size=(sizes.vectors, sizes.dimension))
    copies = random.random(sizes.vectors) < 1 / 3
    near = random.integers(0, sizes.vectors, size=int(copies.sum()))
    noise = random.choice([0.01, 0.05, 0.1, 0.15, 0.2], size=(len(near), 1))
    rows[copies] = rows[near] + noise * random.normal(size=(len(near), sizes.dimension))
    for place, chosen in enumerate(np.array_split(np.arange(sizes.vectors), FILES)):
        values = pa.array(rows[chosen].astype(np.float32).reshape(-1))
        column = pa.FixedSizeListArray.from_arrays(values, sizes.dimension)
        table = pa.table({"id": chosen, "embedding": column})
        pq.write_table(table, folder / f"{place}.parquet", row_group_size=5000)
    (folder / "ready").touch()
    return folder
