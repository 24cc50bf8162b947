"""Clips keep the aspect ratio, colours and times of their source, or report changes."""

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from corpus.films import Film, Shot
from corpus.videos import Style, write_video
from curator_core.testing import run_stage, run_stages
from curator_video.cutting.cutter import ClipCutter
from curator_video.cutting.encoders import VideoEncoder, keep_thread_priorities
from curator_video.cutting.frame_preparation import ToneMapper
from curator_video.probing import ColorFacts, probe
from curator_video.source import VideoSource
from curator_video.tasks import Clip, ClipSpan, EncodedClip

UNTAGGED = ColorFacts()
PQ, HLG, BT709, BT2020 = 16, 18, 1, 9


def clip(path: Path, start: float = 0.0, end: float = 0.4) -> Clip:
    source = VideoSource(str(path))
    return Clip(ClipSpan(source, probe(source), start, end))


def cut(stage: ClipCutter, task: Clip) -> EncodedClip:
    [done] = run_stage(stage, task)
    encoded: EncodedClip = done.data.encoded
    return encoded


def facts_of(made: EncodedClip) -> Any:
    return probe(VideoSource(f"clip.{made.extension}", content=made.content))


def frames(content: bytes | Path) -> list[av.VideoFrame]:
    with av.open(io.BytesIO(content) if isinstance(content, bytes) else str(content)) as container:
        return list(container.decode(video=0))


def luma(frame: av.VideoFrame) -> np.ndarray[Any, Any]:
    plane = frame.planes[0]
    wide = np.frombuffer(plane, np.uint8).reshape(frame.height, plane.line_size)
    return wide[:, : frame.width].astype(int)


@dataclass(frozen=True)
class Stored:
    """How the frames of a test video are stored."""

    codec: str = "libx264"
    ratio: Fraction | None = None
    options: dict[str, str] = field(default_factory=dict)
    rotation: int = 0
    audio: str | None = None


def write(path: Path, pictures: Sequence[av.VideoFrame], **how: Any) -> Path:
    """Write the frames, 25 per second, with the tags of the first one."""
    first, stored = pictures[0], Stored(**how)
    with av.open(str(path), "w") as container:
        track: Any = container.add_stream(stored.codec, rate=25)
        track.width, track.height, track.pix_fmt = first.width, first.height, first.format.name
        track.options = {"x264-params": "keyint=5", **stored.options}
        context = track.codec_context
        context.color_primaries, context.color_trc = first.color_primaries, first.color_trc
        context.colorspace, context.color_range = first.colorspace, first.color_range
        if stored.rotation:
            track.set_display_rotation(stored.rotation)
        if stored.ratio is not None:
            context.sample_aspect_ratio = stored.ratio
        if stored.audio is not None:
            add_tone(container, stored.audio, len(pictures) / 25)
        for number, frame in enumerate(pictures):
            frame.pts, frame.time_base = number, Fraction(1, 25)
            container.mux(track.encode(frame))
        container.mux(track.encode(None))
    return path


def add_tone(container: Any, codec: str, seconds: float) -> None:
    track = container.add_stream(codec, rate=48000, layout="mono")
    wave = np.sin(np.arange(int(48000 * seconds)) * 0.05) * 8000
    frame = av.AudioFrame.from_ndarray(wave.astype(np.int16)[None], "s16", "mono")
    frame.sample_rate, frame.pts, frame.time_base = 48000, 0, Fraction(1, 48000)
    container.mux([*track.encode(frame), *track.encode(None)])


def flat(
    levels: tuple[int, int, int], color: ColorFacts = UNTAGGED, kind: str = "yuv420p"
) -> av.VideoFrame:
    """Return a frame of one colour, given as stored levels."""
    frame = av.VideoFrame(96, 64, kind)
    depth = np.uint16 if kind.endswith("10le") else np.uint8
    for plane, level in zip(frame.planes, levels, strict=True):
        plane.update(np.full(plane.buffer_size // depth().itemsize, level, depth).tobytes())
    frame.color_primaries, frame.color_trc = color.primaries, color.transfer
    frame.colorspace, frame.color_range = color.matrix, 2 if color.is_full_range else 1
    return frame


@pytest.mark.parametrize("mode", ["exact", "copy"])
@pytest.mark.parametrize(("codec", "ending"), [("libx264", "mp4"), ("libvpx-vp9", "mp4")])
def test_clips_keep_the_pixel_aspect_ratio(
    tmp_path: Path, mode: Any, codec: str, ending: str
) -> None:
    pictures = [flat((90, 100, 110)) for _ in range(10)]
    path = write(tmp_path / f"wide.{ending}", pictures, codec=codec, ratio=Fraction(64, 45))
    assert probe(VideoSource(str(path))).sample_aspect_ratio == "64:45"
    assert facts_of(cut(ClipCutter(mode), clip(path))).sample_aspect_ratio == "64:45"


def test_sound_is_encoded_if_matroska_would_lose_the_aspect_ratio(tmp_path: Path) -> None:
    pictures = [flat((90, 100, 110)) for _ in range(25)]
    path = write(tmp_path / "wide.mov", pictures, ratio=Fraction(64, 45), audio="pcm_s16le")
    made = cut(ClipCutter(encoder="libvpx-vp9"), clip(path))
    assert (made.extension, made.audio) == ("mp4", "aac")
    assert facts_of(made).sample_aspect_ratio == "64:45"


def test_the_aspect_ratio_is_rotated_with_the_frame(tmp_path: Path) -> None:
    pictures = [flat((90, 100, 110)) for _ in range(10)]
    path = write(tmp_path / "turned.mp4", pictures, ratio=Fraction(4, 3), rotation=90)
    assert facts_of(cut(ClipCutter(), clip(path))).sample_aspect_ratio == "3:4"


COLORS = {
    "hd": ColorFacts(BT709, BT709, BT709),
    "pal": ColorFacts(5, 6, 5),
    "wide": ColorFacts(BT2020, 14, BT2020),
    "full": ColorFacts(BT709, BT709, BT709, is_full_range=True),
}


@pytest.mark.parametrize("mode", ["exact", "copy"])
@pytest.mark.parametrize("color", COLORS.values(), ids=COLORS)
def test_clips_keep_colours_and_their_tags(tmp_path: Path, color: ColorFacts, mode: Any) -> None:
    kind = "yuvj420p" if color.is_full_range else "yuv420p"
    path = write(tmp_path / "green.mp4", [flat((250, 60, 70), color, kind) for _ in range(10)])
    made = cut(ClipCutter(mode), clip(path))
    assert facts_of(made).color == probe(VideoSource(str(path))).color == color
    assert abs(luma(frames(made.content)[0]) - 250).max() <= 2


def test_untagged_colours_stay_untagged(harbour: Path) -> None:
    assert facts_of(cut(ClipCutter(), clip(harbour))).color == ColorFacts()


def test_rgb_becomes_tagged_bt709(tmp_path: Path) -> None:
    red = av.VideoFrame.from_ndarray(np.full((64, 96, 3), (200, 20, 20), np.uint8), "rgb24")
    path = write(
        tmp_path / "rgb.mov", [red.reformat(format="rgb24") for _ in range(10)], codec="png"
    )
    made = cut(ClipCutter(quality=5), clip(path))
    assert facts_of(made).color.matrix == BT709
    shown = frames(made.content)[0].to_ndarray(format="rgb24").astype(int)
    assert abs(shown - (200, 20, 20)).max() <= 8


def comb(number: int) -> av.VideoFrame:
    """Return an interlaced frame: odd lines show a moving bar half a frame later."""
    frame = flat((40, 128, 128))
    lines = np.full((64, 96), 40, np.uint8)
    for first, at in ((0, 8 * number), (1, 8 * number + 4)):
        lines[first::2, at % 80 : at % 80 + 16] = 220
    plane = frame.planes[0]
    whole = np.zeros((64, plane.line_size), np.uint8)
    whole[:, :96] = lines
    plane.update(whole.tobytes())
    return frame


def combing(picture: np.ndarray[Any, Any]) -> float:
    """Measure how much lines differ from their neighbours."""
    return float(np.abs(2 * picture[1:-1] - picture[:-2] - picture[2:]).mean())


def test_interlaced_video_is_deinterlaced(tmp_path: Path) -> None:
    options = {"x264-params": "interlaced=1:tff=1:keyint=5:qp=8"}
    path = write(tmp_path / "fields.mp4", [comb(number) for number in range(20)], options=options)
    there = frames(path)
    assert probe(VideoSource(str(path))).is_interlaced
    made = cut(ClipCutter(quality=8), clip(path, 0.2, 0.6))
    here = frames(made.content)
    assert made.changes == ("deinterlaced",)
    assert len(here) == made.frames == 10
    assert not any(frame.interlaced_frame for frame in here)
    assert [round(float(frame.time), 3) for frame in here] == [n / 25 for n in range(10)]
    for source, frame in zip(there[5:15], here, strict=True):
        assert combing(luma(frame)) < 0.4 * combing(luma(source))
        kept = (abs(luma(frame) - luma(source))[first::2].mean() for first in (0, 1))
        assert min(kept) < 2, "a different frame"


def test_interlaced_clips_are_the_same_alone_and_in_a_row(tmp_path: Path) -> None:
    options = {"x264-params": "interlaced=1:tff=1:keyint=5"}
    path = write(tmp_path / "fields.mp4", [comb(number) for number in range(20)], options=options)
    clips = [clip(path, start, start + 0.2) for start in (0.0, 0.2, 0.4)]
    in_a_row = [done.data.encoded for done in run_stages([ClipCutter()], clips).outputs]
    assert in_a_row == [cut(ClipCutter(), one) for one in clips]


def pq(nits: float) -> int:
    """Return the 10-bit PQ level of a brightness."""
    power = (nits / 10_000) ** 0.1593017578125
    share = ((0.8359375 + 18.8515625 * power) / (1 + 18.6875 * power)) ** 78.84375
    return round(64 + 876 * share)


def hdr(tmp_path: Path, transfer: int = PQ) -> Path:
    color = ColorFacts(BT2020, transfer, BT2020)
    levels = [pq(nits) for nits in (1, 10, 100, 203, 1000)]
    pictures = [flat((level, 512, 512), color, "yuv420p10le") for level in levels for _ in range(5)]
    if not VideoEncoder("libx265").is_available:
        pytest.skip("this av has no libx265")
    options = {"x265-params": "log-level=none:lossless=1:keyint=5"}
    return write(tmp_path / "hdr.mp4", pictures, codec="libx265", options=options)


def test_hdr_is_tone_mapped_and_reported(tmp_path: Path) -> None:
    task = clip(hdr(tmp_path), 0.0, 1.0)
    assert task.data.facts.color == ColorFacts(BT2020, PQ, BT2020)
    made = cut(ClipCutter(), task)
    assert made.changes == ("PQ tone-mapped to BT.709",)
    assert facts_of(made).color == ColorFacts(BT709, BT709, BT709)
    seen = [float(luma(frame).mean()) for frame in frames(made.content)[2::5]]
    assert seen == sorted(seen)
    assert seen[0] < 42, "dark stays dark, although its PQ level is grey"
    assert 110 < seen[3] < 220, "paper white is neither dark nor the maximum"
    assert seen[4] > seen[3] + 15, "highlights are brighter than paper white"


def test_hlg_is_tone_mapped_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tables of the mapping, which take seconds to build, are left out."""
    mapped: list[ColorFacts] = []

    def record(mapper: ToneMapper, frame: Any, color: ColorFacts) -> Any:
        mapped.append(color)
        return frame.reformat(format="yuv420p")

    monkeypatch.setattr(ToneMapper, "map", record)
    made = cut(ClipCutter(), clip(hdr(tmp_path, HLG)))
    assert made.changes == ("HLG tone-mapped to BT.709",)
    assert mapped == [ColorFacts(BT2020, HLG, BT2020)] * made.frames


def test_hdr_can_be_refused_or_copied(tmp_path: Path) -> None:
    task = clip(hdr(tmp_path))
    ran = run_stages([ClipCutter(hdr="refuse")], [task], on_error="quarantine")
    assert ran.outputs == []
    [record] = ran.report.quarantined
    assert "HDR (PQ)" in record.reason
    assert "hdr: tone_map" in record.reason
    made = cut(ClipCutter("copy", hdr="refuse"), task)
    assert facts_of(made).color.transfer == PQ
    [reported] = ClipCutter(hdr="refuze").check()  # type: ignore[arg-type]
    assert "did you mean refuse" in reported


def av1(path: Path) -> Path:
    if not VideoEncoder("libsvtav1").is_available:
        pytest.skip("this av has no libsvtav1")
    film = Film([Shot(50, "pan"), Shot(25, "object")])
    options = {"preset": "12", "svtav1-params": "keyint=25"}
    audio = "libopus" if path.suffix == ".webm" else "aac"
    with keep_thread_priorities():
        return write_video(path, film, Style(codec="libsvtav1", audio=audio, options=options))


@pytest.mark.parametrize("ending", ["mp4", "mkv", "webm"])
def test_copies_of_av1_have_the_source_frames(tmp_path: Path, ending: str) -> None:
    path = av1(tmp_path / f"film.{ending}")
    made = cut(ClipCutter("copy"), clip(path, 1.2, 2.4))
    assert (made.codec, made.extension, made.start) == ("av1", "mp4", pytest.approx(1.0, abs=0.01))
    there = {round(float(f.time), 2): f.to_ndarray(format="rgb24") for f in frames(path)}
    here = frames(made.content)
    assert len(here) == made.frames == 35
    for frame in here:
        time = round(float(frame.time) + made.start, 2)
        assert np.array_equal(frame.to_ndarray(format="rgb24"), there[time])
    assert facts_of(made).audio is not None


def late_slides(path: Path, codec: str) -> Path:
    """Write three seconds of video, then a frame every three seconds."""
    times = [*range(0, 3000, 40), *range(3000, 30_001, 3000)]
    with av.open(str(path), "w") as container:
        track: Any = container.add_stream(codec, rate=25)
        track.width, track.height, track.pix_fmt = 64, 48, "yuv420p"
        track.codec_context.time_base = Fraction(1, 1000)
        if codec == "libx264":
            track.options = {"x264-params": "threads=1:keyint=25:bframes=2"}
        for number, time in enumerate(times):
            level = min(235, 20 + 2 * number)
            frame = av.VideoFrame.from_ndarray(np.full((48, 64), level, np.uint8), "gray")
            frame.pts, frame.time_base = time, Fraction(1, 1000)
            container.mux(track.encode(frame.reformat(format="yuv420p")))
        container.mux(track.encode(None))
    return path


@pytest.mark.parametrize("mode", ["exact", "copy"])
@pytest.mark.parametrize(("codec", "ending"), [("libx264", "mkv"), ("libvpx-vp9", "webm")])
@pytest.mark.parametrize("is_noticed", [True, False])
def test_a_rate_that_varies_only_later_loses_no_clips(
    tmp_path: Path, codec: str, ending: str, mode: Any, is_noticed: bool
) -> None:
    """Also if the facts do not notice it, because the variable part is short."""
    path = late_slides(tmp_path / f"slides.{ending}", codec)
    source = VideoSource(str(path))
    facts = probe(source)
    assert facts.is_variable
    if not is_noticed:
        facts = replace(facts, is_variable=False)
    spans = [Clip(ClipSpan(source, facts, start, start + 2.0)) for start in range(0, 28, 2)]
    ran = run_stages([ClipCutter(mode)], spans, on_error="quarantine")
    assert [record.reason for record in ran.report.quarantined] == []
    assert len(ran.outputs) == len(spans)
    if mode == "exact":
        assert [done.data.encoded.end for done in ran.outputs] == [s.data.end for s in spans]
    assert all(list(decoded(done.data.encoded.content)) for done in ran.outputs)


def decoded(content: bytes) -> Iterator[av.VideoFrame]:
    yield from frames(content)
