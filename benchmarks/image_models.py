"""Measures the models of curator-image: pictures per CPU second, and against their own packages.

Part of `hatch run bench:image`; by itself: `python benchmarks/image_models.py [--quick]`. What is
not installed is told and left out. How well vectors find copies stands in `image_hashes.py`.
"""

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any

import pyarrow as pa
from curator_core import AnyStage, CuratorError, WorkerInfo
from curator_core.stages import flatten
from curator_image import FaceDetector, ImageEmbedder, NSFWFilter, TextAreaFilter
from curator_image.batches import ImageBatch
from measuring.figures import Figure, show
from measuring.photographs import as_jpeg, photographs

LONGEST = 640
STAGES: Mapping[str, Callable[[], AnyStage]] = {
    "vectors by EfficientNet-Lite0": lambda: ImageEmbedder(device="cpu"),
    "NSFW scores by open_nsfw": lambda: NSFWFilter(max_score=None, device="cpu"),
    "faces by CenterFace": lambda: FaceDetector(device="cpu"),
    "text areas by rapidocr": lambda: TextAreaFilter(max_area=None, device="cpu"),
}
MOST_FALSE_ALARMS = 0.02
"""Of these photographs, none of which shows nudity, so many may score above .5."""


def figures(quick: bool = False) -> list[Figure]:
    pictures = [as_jpeg(one, LONGEST) for one in photographs(4 if quick else 32)]
    batch = batch_of(pictures)
    rows = [_rate(name, make, batch) for name, make in STAGES.items()]
    return [
        *rows,
        _false_alarms(batch_of([as_jpeg(one) for one in photographs(8 if quick else 105)])),
    ]


def batch_of(images: Sequence[bytes]) -> ImageBatch:
    keys = [str(number) for number in range(len(images))]
    columns = {
        "key": keys,
        "image": pa.array(images, pa.binary()),
        "extension": ["jpg"] * len(keys),
    }
    return ImageBatch(pa.table(columns))


def _rate(name: str, make: Callable[[], AnyStage], batch: ImageBatch) -> Figure:
    target = "told for planning"
    [stage] = flatten([make()])
    if problems := list(stage.check()):
        return Figure(name, target, problems[0], None)
    try:
        stage.setup(WorkerInfo())
    except CuratorError as error:
        return Figure(name, target, str(error), None)
    times = [_cpu(lambda: _run(stage, batch)) for _ in range(3)]
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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few pictures: does it run at all?")
    found = figures(parser.parse_args().quick)
    show(found)
    return 0 if all(figure.met is not False for figure in found) else 1


if __name__ == "__main__":
    sys.exit(main())
