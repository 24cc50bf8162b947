"""Figures of cutting: a film into clips of ten seconds, beside ffmpeg."""

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from curator_video.cutting.encoders import VideoEncoder
from curator_video.cutting.exact import ExactCutter
from curator_video.cutting.stream_copy import copy_clip
from curator_video.probing import probe
from curator_video.source import VideoSource
from curator_video.tasks import ClipSpan
from measuring.figures import Figure
from measuring.films import real_film
from measuring.programs import program, run
from video_likeness import likeness
from video_sizes import Sizes
from video_turns import against

CLIP_S = 10.0
LEAST_COPY, LEAST_EXACT, LEAST_VP9 = 8.0, 1.15, 7.0
WORSE_BY, LARGEST = 0.2, 1.02
X264 = ("libx264", "-preset", "veryfast", "-crf", "23", "-threads", "1")
# What NeMo Curator tells libvpx-vp9, where a machine has no NVENC.
VP9 = (
    *("libvpx-vp9", "-b:v", "0", "-crf", "31", "-deadline", "good", "-cpu-used", "4"),
    *("-row-mt", "1", "-tile-columns", "2", "-threads", "1"),
)


def copying(sizes: Sizes) -> Iterator[Figure]:
    clips, ffprobe = _clips(sizes.film), program("ffprobe")
    told = ["-show_format", "-show_streams", "-of", "json"]

    def theirs() -> None:
        """Their writer probes each clip that was cut."""
        with tempfile.TemporaryDirectory() as folder:
            for path in _cut_by_ffmpeg(sizes.film, clips, ["copy"], Path(folder)):
                run(ffprobe, *told, str(path))

    def ours() -> None:
        for clip in clips:
            copy_clip(clip, True)

    what = f"{len(clips)} clips copied, against ffmpeg and ffprobe"
    yield against(what, LEAST_COPY, sizes.rounds, ours, theirs)


def encoding(sizes: Sizes) -> Iterator[Figure]:
    name, encoder = "x264 of the same preset", VideoEncoder(preset="veryfast")
    yield from _encoding(_real(sizes), encoder, X264, name, LEAST_EXACT, sizes.rounds)
    told = f"{name}, rendered film"
    yield from _encoding(sizes.film, encoder, X264, told, LEAST_EXACT, sizes.rounds)


def encoding_vp9(sizes: Sizes) -> Iterator[Figure]:
    """Ours asks for as much quality as theirs has."""
    name = "libvpx-vp9 as NeMo Curator sets it"
    yield from _encoding(_real(sizes), VideoEncoder(quality=23.5), VP9, name, LEAST_VP9, 1)


def _real(sizes: Sizes) -> Path:
    """A film that somebody made; a small rendered one, where only the benchmark is tried out."""
    return real_film() if sizes.seconds > CLIP_S else sizes.film


def _encoding(
    film: Path,
    encoder: VideoEncoder,
    settings: Sequence[str],
    name: str,
    target: float,
    rounds: int,
) -> Iterator[Figure]:
    clips = _clips(film)
    program("ffmpeg")
    made: list[bytes] = []
    cut: list[bytes] = []

    def ours() -> None:
        cutter = ExactCutter(encoder, True)
        made[:] = [cutter.cut(clip).content for clip in clips]

    def theirs() -> None:
        with tempfile.TemporaryDirectory() as folder:
            paths = _cut_by_ffmpeg(film, clips, settings, Path(folder))
            cut[:] = [path.read_bytes() for path in paths]

    what = f"{len(clips)} clips cut exactly, against ffmpeg with {name}"
    yield against(what, target, rounds, ours, theirs)
    yield from _likeness(clips, made, cut)


def _likeness(
    clips: Sequence[ClipSpan], made: Sequence[bytes], cut: Sequence[bytes]
) -> Iterator[Figure]:
    """Less work counts only where no less comes out of it."""
    wanted = sum(round((clip.end - clip.start) * clip.facts.fps) for clip in clips)
    ours, theirs = likeness(clips, made), likeness(clips, cut)
    counts = f"{ours.pictures}, theirs {theirs.pictures}"
    is_whole = ours.pictures == theirs.pictures == wanted
    yield Figure("all pictures are in them", str(wanted), counts, is_whole)
    value = f"{ours.decibels:.2f} dB, theirs {theirs.decibels:.2f} dB"
    is_alike = ours.decibels >= theirs.decibels - WORSE_BY
    yield Figure("likeness to the source", f">= theirs - {WORSE_BY:g} dB", value, is_alike)
    share = ours.size / theirs.size
    value = f"{ours.size / 1e6:.2f} MB, theirs {theirs.size / 1e6:.2f} MB"
    yield Figure("bytes of the pictures", f"<= {LARGEST:g} of theirs", value, share <= LARGEST)


def _clips(film: Path) -> list[ClipSpan]:
    source = VideoSource(str(film))
    facts = probe(source)
    starts = [CLIP_S * number for number in range(int(facts.duration / CLIP_S + 0.9))]
    ends = [min(start + CLIP_S, facts.duration) for start in starts]
    return [ClipSpan(source, facts, *edges) for edges in zip(starts, ends, strict=True)]


def _cut_by_ffmpeg(
    film: Path, clips: Sequence[ClipSpan], settings: Sequence[str], folder: Path
) -> list[Path]:
    """All in one call, as NeMo Curator does it."""
    paths = [folder / f"{number}.mp4" for number in range(len(clips))]
    inputs: list[str] = []
    for number, (clip, path) in enumerate(zip(clips, paths, strict=True)):
        edges = ["-ss", str(clip.start), "-to", str(clip.end)]
        inputs += ["-threads", "1", *edges, "-i", str(film), "-map", f"{number}:v:0", "-c:v"]
        inputs += [*settings, "-map", f"{number}:a:0?", "-c:a", "copy", str(path)]
    run(program("ffmpeg"), "-y", *inputs)
    return paths
