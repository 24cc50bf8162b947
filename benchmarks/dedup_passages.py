"""Figures of repeated passages: CPU time and memory against a suffix array of the same texts."""

import json
import sys
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory

import numpy as np
from dedup_sizes import Sizes
from measuring.figures import Figure
from measuring.peers import CACHE, peer_python
from measuring.timing import Outcome, in_turns, run_job

SEED = 5
FILES = 8
SUFFIXES = ("suffixes", "pydivsufsort", "numpy")

_WORDS, _PASSAGES = 30_000, 500
_PASSAGE, _SHARE = 80, 0.1


def passages(sizes: Sizes) -> list[Figure]:
    python = peer_python(*SUFFIXES)
    jobs = {"passages_with_curator.py": sys.executable, "passages_with_suffixes.py": python}
    outcomes: dict[str, list[Outcome]] = {script: [] for script in jobs}
    source = corpus(sizes.passages)
    with TemporaryDirectory(prefix="passages-") as desk:

        def job(script: str) -> float:
            out = Path(desk, script)
            rmtree(out, ignore_errors=True)
            done = run_job(script, source, out, python=jobs[script], watch_memory=True)
            outcomes[script].append(done)
            return done.cpu_s

        medians, measured = in_turns(
            {script: lambda script=script: job(script) for script in jobs}, sizes.rounds
        )
    ours, theirs = medians.values()
    peaks = [max(done.peak_bytes for done in dones) / 1e6 for dones in outcomes.values()]
    value = f"{theirs / ours:.1f}x as fast, {peaks[0]:.0f} MB against {peaks[1]:.0f} MB"
    what = f"passages of 50 words in {sizes.passages:,} documents"
    target = "faster than sorting all suffixes"
    return [Figure(what, target, value, ours < theirs, {**measured, "peak_mb": peaks})]


def corpus(documents: int) -> Path:
    """Words at random, rare ones rarely; in a tenth of the documents a passage of others."""
    folder = CACHE / f"passages-1-{documents}"
    if (folder / "ready").exists():
        return folder
    rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    random = np.random.default_rng(SEED)
    lengths = random.integers(2, 10, size=_WORDS)
    words = ["".join(map(chr, random.integers(97, 123, size=size))) for size in lengths]
    odds = 1 / np.arange(1, _WORDS + 1)
    odds /= odds.sum()
    passages = random.choice(_WORDS, size=(_PASSAGES, _PASSAGE), p=odds)
    for place, numbers in enumerate(np.array_split(np.arange(documents), FILES)):
        with open(folder / f"{place}.jsonl", "w") as file:
            for number in numbers.tolist():
                chosen = random.choice(_WORDS, size=random.integers(100, 700), p=odds)
                if random.random() < _SHARE:
                    chosen = np.insert(chosen, 50, random.choice(passages))
                text = " ".join(words[word] for word in chosen)
                file.write(json.dumps({"id": number, "text": text}) + "\n")
    (folder / "ready").touch()
    return folder
