"""Measures curator-video: `hatch run bench:video [--quick]`.

Each figure stands beside its target, and both sides run in turns in one process. What needs
ffmpeg beside it, or another peer, is not measured here yet. Keep the machine quiet.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import av
from measuring.figures import Figure, save, show

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

from corpus.films import random_film
from corpus.videos import Style, write_video
from curator_video.analysis.examining import examined
from curator_video.analysis.wants import Sampling, Wanted
from curator_video.clips import Span
from curator_video.probing import probe
from curator_video.sources import VideoSource

RESULTS = Path(__file__).parent / "results" / "video.json"
SECOND = Sampling(1.0)
ALL = (
    Wanted(thumbs=True),
    Wanted(luma=True),
    Wanted(motion=True),
    Wanted(frames=frozenset({SECOND})),
)


def cpu_seconds(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def in_turns(rounds: int, *works: Callable[[], object]) -> list[float]:
    """The least of each: what disturbed them is not theirs."""
    taken = [[cpu_seconds(work) for work in works] for _ in range(rounds)]
    return [min(column) for column in zip(*taken, strict=True)]


def decode_everything(path: str) -> None:
    """Pictures at 1 fps the plain way."""
    wanted = 0.0
    with av.open(path) as container:
        container.streams.video[0].codec_context.thread_count = 1
        for frame in container.decode(video=0):
            if (frame.time or 0) >= wanted - 1e-3:
                frame.to_ndarray(format="rgb24")
                wanted += 1


def figures(folder: Path, quick: bool) -> list[Figure]:
    seconds, size = (4, (320, 180)) if quick else (60, (1280, 720))
    style = Style(*size, fps=30, keyframe_every=250, options={"preset": "fast"})
    path = write_video(folder / "film.mp4", random_film(seconds, 30, 1), style)
    source = VideoSource(str(path))
    facts = probe(source)
    span = Span(source, facts, 0.0, facts.duration)
    together = ALL[0] | ALL[1] | ALL[2] | ALL[3]
    fused, apart, chosen, plain = in_turns(
        1 if quick else 3,
        lambda: examined(span, together),
        lambda: [examined(span, wanted) for wanted in ALL],
        lambda: examined(span, ALL[3]),
        lambda: decode_everything(str(path)),
    )
    return [
        _ratio("one decode for four uses, against four", 2.5, apart, fused),
        _ratio("pictures at 1 fps, against decoding everything in av", 1.2, plain, chosen),
    ]


def _ratio(what: str, target: float, slow: float, fast: float) -> Figure:
    ratio = slow / max(fast, 1e-9)
    value = f"{ratio:.2f}x ({slow:.2f} against {fast:.2f} CPU-s)"
    return Figure(what, f">= {target}x", value, ratio >= target)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="tiny sizes: does it run at all?")
    quick = parser.parse_args().quick
    with tempfile.TemporaryDirectory() as folder:
        found = figures(Path(folder), quick)
    show(found)
    if quick:
        print("These sizes are far too small to judge by: leave out --quick for that.")
        return 0
    save(found, RESULTS)
    return 0 if all(figure.met is not False for figure in found) else 1


if __name__ == "__main__":
    sys.exit(main())
