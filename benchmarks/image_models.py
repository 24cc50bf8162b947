"""Figures of the models of curator-image: pictures per CPU second, and false alarms.

What is not installed is told and left out. How well vectors find copies: `image_hashes.py`.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from statistics import median
from typing import Any

from curator_core import AnyStage, CuratorError, WorkerInfo, flatten
from curator_image import FaceDetector, ImageEmbedder, NSFWFilter, TextAreaFilter
from curator_image.image_batch import ImageBatch
from image_hashes import batch_of
from image_sizes import Sizes
from measuring.figures import Figure
from measuring.photographs import as_jpeg, photographs

LONGEST = 640
MOST_ROUNDS = 3
"""Enough for planning."""

STAGES: Mapping[str, Callable[[], AnyStage]] = {
    "vectors by EfficientNet-Lite0": lambda: ImageEmbedder(device="cpu"),
    "NSFW scores by open_nsfw": lambda: NSFWFilter(max_score=None, device="cpu"),
    "faces by CenterFace": lambda: FaceDetector(device="cpu"),
    "text areas by rapidocr": lambda: TextAreaFilter(max_area=None, device="cpu"),
}
MOST_FALSE_ALARMS = 0.02
"""Of these photographs, none of which shows nudity, so many may score above .5."""


def models(sizes: Sizes) -> Iterator[Figure]:
    batch = batch_of([as_jpeg(one, LONGEST) for one in photographs(sizes.modelled)])
    for name, make in STAGES.items():
        yield _rate(name, make, batch, min(MOST_ROUNDS, sizes.rounds))


def harmless(sizes: Sizes) -> Iterator[Figure]:
    yield _false_alarms(batch_of([as_jpeg(one) for one in photographs(sizes.pictures)]))


def _rate(name: str, make: Callable[[], AnyStage], batch: ImageBatch, rounds: int) -> Figure:
    target = "told for planning"
    [stage] = flatten([make()])
    if problems := list(stage.check()):
        return Figure(name, target, problems[0], None)
    try:
        stage.setup(WorkerInfo())
    except CuratorError as error:
        return Figure(name, target, str(error), None)
    times = [_cpu(lambda: _run(stage, batch)) for _ in range(rounds)]
    stage.teardown()
    rate = batch.num_items / median(times)
    told = f"{rate:.1f} pictures per CPU second (JPEG, {LONGEST} px, decoding included)"
    return Figure(name, target, told, None, {"seconds": times})


def _run(stage: AnyStage, batch: ImageBatch) -> list[Any]:
    return list(stage.process(batch.with_data(batch.data)))  # without what was decoded before


def _false_alarms(batch: ImageBatch) -> Figure:
    what, target = "harmless photographs above .5 for open_nsfw", f"<= {MOST_FALSE_ALARMS:.0%}"
    [stage] = flatten([NSFWFilter(max_score=None, device="cpu")])
    if problems := list(stage.check()):
        return Figure(what, target, problems[0], None)
    stage.setup(WorkerInfo())
    [scored] = _run(stage, batch)
    stage.teardown()
    scores = scored.data["nsfw_score"].to_pylist()
    share = sum(score > 0.5 for score in scores) / len(scores)
    told = f"{share:.1%} of {len(scores)}, the highest {max(scores):.2f}"
    return Figure(what, target, told, share <= MOST_FALSE_ALARMS, {"scores": scores})


def _cpu(work: Callable[[], object]) -> float:
    before = time.process_time()
    work()
    return time.process_time() - before
