"""Figures of repeated sentences: CPU time, and what is left, against datatrove's three steps."""

import json
import sys
from collections import Counter
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory

import numpy as np
from dedup_exact import DATATROVE
from dedup_sizes import Sizes
from measuring.figures import Figure
from measuring.peers import CACHE, peer_python
from measuring.timing import in_turns, run_job

SEED = 7
FILES = 4

_WORDS, _PASSAGES, _SHARE = 20_000, 300, 0.15
_LENGTHS = (3, 8)
"""So many sentences has a passage that documents share."""


def sentences(sizes: Sizes) -> list[Figure]:
    python = peer_python(*DATATROVE)
    jobs = {"sentences_with_curator.py": sys.executable, "sentences_with_datatrove.py": python}
    left: dict[str, Counter[str]] = {}
    source = corpus(sizes.sentences)
    with TemporaryDirectory(prefix="sentences-") as desk:

        def job(script: str) -> float:
            out = Path(desk, script)
            rmtree(out, ignore_errors=True)
            done = run_job(script, source, out, python=jobs[script])
            left[script] = sentences_in(Path(done.facts["folder"]))
            return done.cpu_s

        medians, measured = in_turns(
            {script: lambda script=script: job(script) for script in jobs}, sizes.rounds
        )
    ratio = medians["sentences_with_datatrove.py"] / medians["sentences_with_curator.py"]
    what = f"three sentences in a row, {sizes.sentences:,} documents, against datatrove's steps"
    speed = Figure(what, "printed", f"{ratio:.1f}x as fast", None, measured)
    return [speed, _agreement(sentences_in(source), *left.values())]


def _agreement(before: Counter[str], ours: Counter[str], theirs: Counter[str]) -> Figure:
    gone, others = (before - left for left in (ours, theirs))
    both = (gone & others).total() / max(1, (gone | others).total())
    value = (
        f"{both:.2%} of what either cuts out of {before.total():,} sentences: "
        f"{gone.total():,} and {others.total():,}"
    )
    what = "the same sentences cut out as by datatrove"
    return Figure(what, ">= 99.9 %", value, both >= 0.999)


def sentences_in(folder: Path) -> Counter[str]:
    """All sentences of a corpus, in no order: peers may keep another of equal ones."""
    return Counter(
        sentence.strip(" .")
        for path in folder.glob("*.jsonl")
        for line in path.read_text().splitlines()
        for sentence in json.loads(line)["text"].split(". ")
    )


def corpus(documents: int) -> Path:
    """Sentences of words at random; some documents have a passage that others have, too."""
    folder = CACHE / f"sentences-2-{documents}"
    if (folder / "ready").exists():
        return folder
    rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    random = np.random.default_rng(SEED)
    sizes_of_words = random.integers(5, 10, size=_WORDS)  # none of an abbreviation, which ends none
    made = ["".join(map(chr, random.integers(97, 123, size=size))) for size in sizes_of_words]
    words = np.array(made)  # of a list each choice would make one anew

    def some(count: int) -> list[str]:
        lengths = random.integers(4, 16, size=count)
        drawn = [random.choice(words, size=length) for length in lengths]
        return [f"{' '.join(chosen).capitalize()}." for chosen in drawn]

    passages = [some(int(random.integers(*_LENGTHS))) for _ in range(_PASSAGES)]
    for place, numbers in enumerate(np.array_split(np.arange(documents), FILES)):
        with open(folder / f"{place}.jsonl", "w") as file:
            for number in numbers.tolist():
                text = some(int(random.integers(5, 40)))
                if random.random() < _SHARE:
                    at = int(random.integers(len(text)))
                    text[at:at] = passages[int(random.integers(_PASSAGES))]
                file.write(json.dumps({"id": str(number), "text": " ".join(text)}) + "\n")
    (folder / "ready").touch()
    return folder
