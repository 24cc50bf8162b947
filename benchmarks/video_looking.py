"""Figures of looking at videos: probing, one decode for many uses, pictures at a rate, motion."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import av
import numpy as np
from curator_video.analysis.measurements import FrameNeeds
from curator_video.analysis.sampling import Sampling
from curator_video.analysis.shared_decode import analyze_span
from curator_video.probing import probe
from curator_video.source import VideoSource
from curator_video.tasks import ClipSpan
from measuring.figures import Figure
from measuring.films import film_file
from measuring.peers import peer_python
from measuring.programs import program, run
from measuring.spending import cpu_seconds, faster
from measuring.timing import JOBS, in_turns, run_job
from peers.nemo_rules import REQUIREMENTS
from video_sizes import Sizes
from video_turns import against

SECOND = Sampling(1.0)
PROBES = 20
LEAST_PROBE, LEAST_FUSED, LEAST_FRAMES, LEAST_MOTION, MOST_MEGABYTES = 8.0, 2.5, 1.2, 8.0, 300
APART = (
    FrameNeeds(thumbs=True),
    FrameNeeds(luma=True),
    FrameNeeds(motion=True),
    FrameNeeds(frames=frozenset({SECOND})),
)


def whole(path: Path) -> ClipSpan:
    source = VideoSource(str(path))
    facts = probe(source)
    return ClipSpan(source, facts, 0.0, facts.duration)


def probing(sizes: Sizes) -> Iterator[Figure]:
    source, ffprobe = VideoSource(str(sizes.film)), program("ffprobe")
    told = ["-show_format", "-show_streams", "-of", "json"]
    yield against(
        f"{PROBES} probes, against ffprobe",
        LEAST_PROBE,
        sizes.rounds,
        lambda: [probe(source) for _ in range(PROBES)],
        lambda: [run(ffprobe, *told, source.path) for _ in range(PROBES)],
    )


def fused(sizes: Sizes) -> Iterator[Figure]:
    span = whole(sizes.film)
    together = APART[0] | APART[1] | APART[2] | APART[3]
    yield against(
        "thumbnails, luma, motion and pictures in one decode, against four",
        LEAST_FUSED,
        sizes.rounds,
        lambda: analyze_span(span, together),
        lambda: [analyze_span(span, wanted) for wanted in APART],
    )


def frames(sizes: Sizes) -> Iterator[Figure]:
    path, ffmpeg = sizes.film, program("ffmpeg")
    span, wanted = whole(path), FrameNeeds(frames=frozenset({SECOND}))
    chosen = [picture for _, picture in analyze_span(span, wanted).sampled_frames(SECOND)]
    known = list(_all_decoded(path))
    same = len(chosen) == len(known) and all(map(np.array_equal, chosen, known))
    raw = ["-vf", "fps=1", "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    works = {
        "ours": lambda: analyze_span(span, wanted),
        "ffmpeg": lambda: run(ffmpeg, "-threads", "1", "-i", str(path), *raw),
        "av": lambda: list(_all_decoded(path)),
    }
    seconds, every = in_turns(
        {name: lambda work=work: cpu_seconds(work) for name, work in works.items()}, sizes.rounds
    )
    what = "pictures at 1 fps, against a full decode in "
    yield faster(what + "ffmpeg", LEAST_FRAMES, seconds, every, peer="ffmpeg")
    ratio = f"{seconds['av'] / seconds['ours']:.2f}x"
    yield Figure(what + "av", "(no target)", ratio, None)
    told = f"{len(chosen)} of {len(known)} pictures"
    yield Figure("they are bit for bit those of a full decode", "all", told, same)


def _all_decoded(path: Path) -> Iterator[Any]:
    """Pictures at 1 fps the plain way."""
    wanted = 0.0
    with av.open(str(path)) as container:
        container.streams.video[0].codec_context.thread_count = 1
        for frame in container.decode(video=0):
            if (frame.time or 0) >= wanted - 1e-3:
                yield frame.to_ndarray(format="rgb24")
                wanted += 1


def motion(sizes: Sizes) -> Iterator[Figure]:
    path = film_file(min(10.0, sizes.seconds), (sizes.width, sizes.height), seed=4)
    site = _site_of(peer_python("nemo-rules", *REQUIREMENTS))
    script = JOBS.parent / "peers" / "nemo_motion.py"
    ours, theirs = [], []
    for _ in range(sizes.rounds):
        ours.append(run_job("score_motion.py", path, watch_memory=True))
        theirs.append(run_job(str(script), site, path, watch_memory=True))
    every = {
        "ours": [one.facts["cpu"] for one in ours],
        "theirs": [one.facts["cpu"] for one in theirs],
    }
    seconds = {name: median(spent) for name, spent in every.items()}
    what = "motion score, against NeMo Curator's"
    yield faster(what, LEAST_MOTION, seconds, every, peer="theirs")
    score, known = ours[0].facts["mean"], theirs[0].facts["mean"]
    told = f"{score:.7f} and {known:.7f}"
    yield Figure("it is the same score", "within 1e-5", told, abs(score - known) <= 1e-5)
    held = [max(one.peak_bytes for one in side) / 1e6 for side in (ours, theirs)]
    value = f"{held[0]:.0f} MB (theirs {held[1]:.0f})"
    yield Figure("memory for it", f"<= {MOST_MEGABYTES} MB", value, held[0] <= MOST_MEGABYTES)


def _site_of(python: str) -> str:
    ask_all = [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    return subprocess.run(ask_all, capture_output=True, text=True, check=True).stdout.strip()
