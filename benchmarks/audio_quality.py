"""Quality: DNSMOS against the functions of speechmos, whose weights both use."""

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np
from audio_sizes import Sizes
from curator_audio import SPEECH, AudioBatch, DnsmosFilter
from curator_core import WorkerInfo
from measuring.figures import Figure
from measuring.read_speech import RATE, Samples, heard, labelled, noisy, passages, prompts
from measuring.spending import cpu_seconds, faster
from measuring.timing import in_turns
from sounds import wav

MOST_AWAY, LEAST_SPEED = 0.05, 1.5
_NAMES = ("sig", "bak", "ovrl", "p808")
_LACKING = ("speechmos", "librosa")


def quality(sizes: Sizes) -> Iterator[Figure]:
    """Samples in memory, for both; from clean to as loud as the speech."""
    missing = [name for name in _LACKING if find_spec(name) is None]
    if missing:
        yield Figure("DNSMOS", "", f"not installed: {', '.join(missing)}", None)
        return
    from speechmos import dnsmos

    recordings = _recordings(sizes)
    batch = AudioBatch.from_pylist([{"audio": wav(one[None], floats=True)} for one in recordings])
    batch = batch.waveforms(SPEECH).batch
    stage = DnsmosFilter(device="cpu")
    stage.setup(WorkerInfo())
    found: dict[str, list[list[float]]] = {}

    def ours() -> None:
        told: Any = next(iter(stage.process(batch)))
        found["ours"] = [[row[f"dnsmos_{n}"] for n in _NAMES] for row in told.to_pylist()]

    def theirs() -> None:
        told = [dnsmos.run(one, sr=RATE) for one in recordings]
        found["speechmos"] = [[float(one[f"{n}_mos"]) for n in _NAMES] for one in told]

    jobs = {"ours": lambda: cpu_seconds(ours), "speechmos": lambda: cpu_seconds(theirs)}
    seconds, every = in_turns(jobs, sizes.rounds)
    away = float(np.abs(np.array(found["ours"]) - np.array(found["speechmos"])).max())
    what = f"DNSMOS of {len(recordings)} recordings, its four scores, against speechmos"
    yield Figure(what, f"within {MOST_AWAY}", f"{away:.4f} at most", away <= MOST_AWAY)
    yield faster("DNSMOS against speechmos", LEAST_SPEED, seconds, every, peer="speechmos")


def _recordings(sizes: Sizes) -> list[Samples]:
    voices = [heard(one.path) for one in passages()] + [heard(p) for p in prompts(sizes.prompts)]
    random = np.random.default_rng(2)
    found = []
    for number in range(max(2, sizes.files // 3)):
        order = [voices[place] for place in random.permutation(len(voices))]
        clean = labelled(order[:12], number)
        mixed = noisy(clean, float(random.uniform(0, 40)), number)
        found.append(np.clip(mixed[: sizes.seconds * RATE], -1, 1))
    return found
