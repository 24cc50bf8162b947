"""Clips have exactly the frames and the sound of their span, or fail with a reason."""

import io
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from time import process_time
from typing import Any, get_args

import av
import numpy as np
import pytest
from corpus.films import Film, Shot
from corpus.videos import Style, write_video
from curator_core import WorkerInfo
from curator_core.errors import CuratorError
from curator_core.testing import check_stage, run_stage, run_stages
from curator_video import decoding
from curator_video.cutting.cutter import ClipCutter, CutMode
from curator_video.cutting.encoders import (
    _PRESETS,
    _QUALITY_RANGES,
    VideoEncoder,
    available_encoders,
)
from curator_video.fixed_stride import FixedStrideSplitter
from curator_video.probing import probe
from curator_video.source import VideoSource
from curator_video.tasks import Clip, ClipSpan, EncodedClip, Video

VP9 = {"deadline": "realtime", "cpu-used": "8"}
STYLES = {
    "mp4": Style(audio="aac"),
    "mkv": Style(audio="libopus", is_variable=True),
    "ts": Style(audio="aac"),
    "avi": Style(codec="mpeg4", audio="libmp3lame", options={"bf": "2"}),
    "webm": Style(codec="libvpx-vp9", audio="libopus", options=VP9),
}
FILM = Film([Shot(75, "pan"), Shot(75, "object")])


def clip(path: Path, start: float = 2.5, end: float = 5.0) -> Clip:
    source = VideoSource(str(path))
    return Clip(ClipSpan(source, probe(source), start, end))


def cut(stage: ClipCutter, task: Clip) -> EncodedClip:
    [done] = run_stage(stage, task)
    return done.data.encoded


def pictures(content: bytes | Path) -> list[tuple[float, Any]]:
    with av.open(io.BytesIO(content) if isinstance(content, bytes) else str(content)) as container:
        found = [(float(f.time), f.to_ndarray(format="rgb24")) for f in container.decode(video=0)]
    return [(round(time - found[0][0], 3), picture) for time, picture in found]


@pytest.fixture(params=STYLES)
def film(request: pytest.FixtureRequest, videos: Path) -> Path:
    path = videos / f"cut.{request.param}"
    return path if path.exists() else write_video(path, FILM, STYLES[request.param])


def test_copies_have_the_source_frames_from_the_keyframe_before(film: Path) -> None:
    done = cut(ClipCutter("copy"), clip(film))
    assert done.start == pytest.approx(0.0 if film.suffix == ".mkv" else 2.0, abs=0.1)
    assert done.end == pytest.approx(5.0, abs=0.15)
    there = pictures(film)
    here = pictures(done.content)
    assert len(here) == done.frames
    start = min((time for time, _ in there), key=lambda time: abs(time - done.start))
    for time, picture in here:
        if start + time > 5.0 - 1e-3:
            break  # other frames are made of these, and AVI has no gap before them
        source_time, known = min(there, key=lambda one: abs(one[0] - start - time))
        assert source_time - start == pytest.approx(time, abs=0.003)
        assert np.array_equal(picture, known)


def test_exact_clips_have_exactly_the_frames_of_their_span(film: Path) -> None:
    done = cut(ClipCutter(), clip(film))
    assert (done.start, done.codec, done.extension) == (2.5, "h264", "mp4")
    there = [one for one in pictures(film) if 2.5 - 1e-3 <= one[0] < 5.0 - 1e-3]
    here = pictures(done.content)
    assert len(here) == len(there) == done.frames
    error = np.abs(here[0][1].astype(int) - there[0][1]).mean()
    assert error < 6, "the first frame is a different one"
    steps = [round(b[0] - a[0], 2) for a, b in pairwise(here)]
    wanted = [round(b[0] - a[0], 2) for a, b in pairwise(there)]
    assert steps == wanted


@pytest.mark.parametrize("codec", ["mpeg4", "libx264"])
def test_each_avi_frame_is_in_one_clip(videos: Path, codec: str) -> None:
    """AVI stores frames in decoding order, without presentation times."""
    options = {"mpeg4": {"bf": "2"}, "libx264": {"x264-params": "bframes=5:b-adapt=0"}}[codec]
    path = write_video(videos / f"{codec}.avi", FILM, Style(96, 64, codec=codec, options=options))
    spans = [clip(path, start, start + 2.0) for start in (0.0, 2.0, 4.0)]
    there = [picture for _, picture in pictures(path)]
    for number, done in enumerate(run_stages([ClipCutter(quality=1)], spans).outputs):
        here = [picture for _, picture in pictures(done.data.encoded.content)]
        assert len(here) == 50
        for place in (0, -1):
            error = np.abs(there[50 * number : 50 * number + 50][place].astype(int) - here[place])
            assert error.mean() < 2
    for done in run_stages([ClipCutter("copy")], spans).outputs:
        made = done.data.encoded
        here = [picture for _, picture in pictures(made.content)]
        first = round(made.start * 25)
        assert len(here) == made.frames == round((made.end - made.start) * 25)
        inside = round(done.data.end * 25) - first
        assert np.array_equal(here[:inside], there[first : first + inside])


def recording(path: Path) -> Path:
    """Write a screen recording: each frame is shown until the next one."""
    with av.open(str(path), "w") as container:
        track = container.add_stream("libx264", rate=25)
        track.width, track.height, track.pix_fmt = 64, 48, "yuv420p"
        track.codec_context.time_base = Fraction(1, 1000)
        track.options = {"x264-params": "threads=1:keyint=4"}
        for number, time in enumerate((0, 1000, 2000, 9000, 12000, 13000, 19900)):
            frame = av.VideoFrame.from_ndarray(np.full((48, 64), 35 * number, np.uint8), "gray")
            frame.pts, frame.time_base = time, Fraction(1, 1000)
            container.mux(track.encode(frame.reformat(format="yuv420p")))
        container.mux(track.encode(None))
    return path


@pytest.mark.parametrize("kind", ["mkv", "mp4"])
def test_clips_keep_long_frames(tmp_path: Path, kind: str) -> None:
    path = recording(tmp_path / f"screen.{kind}")
    source = VideoSource(str(path))
    video = Video(source, facts=probe(source))
    for mode in get_args(CutMode):
        stages = [FixedStrideSplitter(5), ClipCutter(mode)]
        clips = [(done.data, done.data.encoded) for done in run_stages(stages, [video]).outputs]
        assert [span.end for span, _ in clips] == pytest.approx([5, 10, 15, 20], abs=0.1)
        seen = [
            [
                (cut.start + time, round(picture.mean() / 35))
                for time, picture in pictures(cut.content)
            ]
            for _, cut in clips
        ]
        shown = [[number for _, number in found] for found in seen]
        if mode == "exact":
            assert [cut.end for _, cut in clips] == [span.end for span, _ in clips]
            assert [found[0][0] for found in seen] == [0, 5, 10, 15]
            ends = [[2, 2, 2], [3, 3, 3], [5, 5, 5], []]  # which a clip ends with as well
            begun = [[0, 1, 2], [2, 3], [3, 4, 5], [5, 6]]
            assert shown == [one + more for one, more in zip(begun, ends, strict=True)]
        else:  # with what they are made of
            assert all(cut.end >= span.end for span, cut in clips)
            for found, whole in zip(shown, [{0, 1, 2}, {3}, {4, 5}, {6}], strict=True):
                assert whole <= set(found)


def clicks(content: bytes) -> Iterator[float]:
    """Yield the times of clicks in the sound, from the start of the clip."""
    with av.open(io.BytesIO(content)) as container:
        loud = 0.0
        for frame in container.decode(audio=0):
            wave = np.abs(frame.to_ndarray()[0].astype(float))
            wave = wave / 32768 if frame.format.name.startswith("s16") else wave
            at = np.flatnonzero(wave > 0.5)
            time = frame.time + (at[0] / frame.sample_rate if at.size else 0)
            if at.size and time - loud > 0.5:
                loud = time
                yield time


@pytest.mark.parametrize("mode", ["exact", "copy"])
def test_sound_stays_in_sync(film: Path, mode: Any) -> None:
    done = cut(ClipCutter(mode), clip(film))
    found = [time + done.start for time in clicks(done.content)]
    assert len(found) >= 2
    for time in found:
        assert time == pytest.approx(round(time), abs=0.03)


def test_sound_can_be_left_out(harbour: Path) -> None:
    for mode in ("exact", "copy"):
        done = cut(ClipCutter(mode, keep_audio=False), clip(harbour))
        assert probe(VideoSource("x.mp4", content=done.content)).audio is None


@pytest.mark.parametrize("rotation", [90, 180, 270])
def test_exact_clips_are_rotated_and_copies_are_tagged(videos: Path, rotation: int) -> None:
    path = write_video(videos / f"turn{rotation}.mp4", FILM, Style(rotation=rotation))
    copy, exact = (cut(ClipCutter(mode), clip(path)) for mode in ("copy", "exact"))
    copied, encoded = (probe(VideoSource("x", content=one.content)) for one in (copy, exact))
    assert (copied.rotation, encoded.rotation) == (rotation, 0)
    assert (copied.width, copied.height) == (encoded.width, encoded.height)
    stored = next(picture for time, picture in pictures(path) if time >= 2.5)
    turned = np.rot90(stored, rotation // 90)
    assert np.abs(pictures(exact.content)[0][1].astype(int) - turned).mean() < 6


@pytest.mark.parametrize("kind", ["odd size", "ten bits"])
def test_odd_sizes_and_10_bits_are_converted(broken: dict[str, Path], kind: str) -> None:
    done = cut(ClipCutter(), clip(broken[kind], 1.0, 3.0))
    facts = probe(VideoSource("x", content=done.content))
    assert (facts.width, facts.height, facts.pixel_format) == (320, 180, "yuv420p")


@pytest.mark.parametrize(
    ("encoder", "codec"), [("libsvtav1", "av1"), ("libvpx-vp9", "vp9"), ("mpeg4", "mpeg4")]
)
def test_other_encoders_by_name(harbour: Path, encoder: str, codec: str) -> None:
    if not VideoEncoder(encoder).is_available:
        pytest.skip(f"this av has no {encoder}")
    done = cut(ClipCutter(encoder=encoder), clip(harbour, 2.0, 3.0))
    assert (done.codec, done.frames) == (codec, 25)
    assert probe(VideoSource("x", content=done.content)).codec == codec


def test_x264_defaults_are_faster_than_veryfast(harbour: Path) -> None:
    def of(**options: Any) -> tuple[float, int]:
        begun = process_time()
        made = cut(ClipCutter(**options), clip(harbour)).content
        return process_time() - begun, len(made)

    seconds, size = map(min, zip(*(of() for _ in range(3)), strict=True))
    named_seconds, named_size = map(
        min, zip(*(of(preset="veryfast") for _ in range(3)), strict=True)
    )
    assert seconds < 0.9 * named_seconds
    assert size < 1.25 * named_size


def test_fractional_quality_is_between_its_neighbours(harbour: Path) -> None:
    sizes = [len(cut(ClipCutter(quality=q), clip(harbour)).content) for q in (30, 30.5, 31)]
    assert sizes[0] > sizes[1] > sizes[2]


def test_lower_quality_is_smaller(harbour: Path) -> None:
    sizes = [len(cut(ClipCutter(quality=q), clip(harbour)).content) for q in (20, 40)]
    assert sizes[0] > 1.5 * sizes[1]


def test_clips_are_reproducible(harbour: Path) -> None:
    for mode in ("copy", "exact"):
        made = {cut(ClipCutter(mode), clip(harbour, 2.5, 3.5)).content for _ in range(6)}
        assert len(made) == 1


SPANS = {
    "one after the other": [(0.0, 2.0), (2.0, 4.0), (4.0, 6.0)],
    "with gaps, near and far": [(0.5, 1.0), (1.4, 2.0), (4.5, 5.5)],
    "overlapping and backwards": [(2.0, 4.0), (3.0, 5.0), (0.0, 2.5), (2.5, 3.0)],
    "to the end and again": [(4.0, 6.0), (4.0, 6.0), (0.0, 1.0)],
}


@pytest.mark.parametrize("spans", SPANS.values(), ids=SPANS)
def test_clips_do_not_depend_on_earlier_ones(film: Path, spans: list[tuple[float, float]]) -> None:
    clips = [clip(film, *edges) for edges in spans]
    in_a_row = [done.data.encoded for done in run_stages([ClipCutter()], clips).outputs]
    alone = [cut(ClipCutter(), one) for one in clips]
    assert [(e.start, e.end, e.frames) for e in in_a_row] == [
        (e.start, e.end, e.frames) for e in alone
    ]
    assert [e.content for e in in_a_row] == [e.content for e in alone]


def test_clips_of_several_videos_may_alternate(videos: Path, harbour: Path) -> None:
    other = write_video(videos / "turns.mp4", FILM, STYLES["mp4"])
    clips = [clip(path, t, t + 1) for t in (0.0, 1.0) for path in (harbour, other)]
    taking_turns = [done.data.encoded for done in run_stages([ClipCutter()], clips).outputs]
    assert taking_turns == [cut(ClipCutter(), one) for one in clips]


def test_consecutive_clips_decode_each_frame_once(
    harbour: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entered: list[float] = []
    seek_keyframe = decoding.seek_keyframe
    monkeypatch.setattr(
        decoding,
        "seek_keyframe",
        lambda video, start: entered.append(start) or seek_keyframe(video, start),
    )
    run_stages([ClipCutter()], [clip(harbour, t, t + 1) for t in (0.0, 1.0, 2.0)])
    assert entered == [0.0]


WAYS = {
    "two keyframes lie between": ([(0.0, 0.5), (4.5, 5.0)], [0.0, 4.5]),
    "a keyframe lies between": ([(0.5, 1.5), (2.5, 3.0)], [0.5, 2.5]),
    "no keyframe lies between": ([(0.0, 0.3), (1.7, 2.0)], [0.0]),
}


@pytest.mark.parametrize(("spans", "entries"), WAYS.values(), ids=WAYS)
def test_seek_only_if_a_keyframe_is_closer_to_the_next_clip(
    harbour: Path,
    spans: list[tuple[float, float]],
    entries: list[float],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    entered: list[float] = []
    seek_keyframe = decoding.seek_keyframe
    monkeypatch.setattr(
        decoding,
        "seek_keyframe",
        lambda video, start: entered.append(start) or seek_keyframe(video, start),
    )
    run_stages([ClipCutter()], [clip(harbour, *edges) for edges in spans])
    assert entered == entries


def test_an_encoder_that_does_not_start_fails_in_setup() -> None:
    stage = ClipCutter(preset="hurried")
    with pytest.raises(CuratorError, match=r"libx264 does not start .*preset and quality"):
        stage.setup(WorkerInfo())


def test_damage_rejects_only_the_clips_it_touches(broken: dict[str, Path]) -> None:
    path = broken["damaged middle"]
    ran = run_stages([ClipCutter()], [clip(path, 0, 2), clip(path, 2, 4)], on_error="quarantine")
    assert [done.data.start for done in ran.outputs] == [2]
    [record] = ran.report.quarantined
    assert "damaged_middle.mp4 is damaged from" in record.reason


@pytest.mark.parametrize("mode", ["exact", "copy"])
def test_lost_packets_fail_only_the_clips_they_are_in(lossy: Path, mode: Any) -> None:
    clips = [clip(lossy, start, start + 2) for start in (0, 2, 4)]
    ran = run_stages([ClipCutter(mode)], clips, on_error="quarantine")
    assert [(done.data.start, done.data.encoded.frames) for done in ran.outputs] == [
        (0, 50),
        (4, 50),
    ]
    assert ran.report.quarantined[0].reason.endswith("damaged packets")


@pytest.mark.parametrize("mode", ["exact", "copy"])
def test_a_missing_end_fails_the_clip(broken: dict[str, Path], mode: Any) -> None:
    ran = run_stages([ClipCutter(mode)], [clip(broken["missing end"], 0, 4)], on_error="quarantine")
    assert ran.outputs == []
    assert "missing_end.mp4 is damaged" in ran.report.quarantined[0].reason


@pytest.mark.parametrize("mode", ["exact", "copy"])
def test_a_clip_that_ends_where_damage_begins_is_intact(broken: dict[str, Path], mode: Any) -> None:
    [done] = run_stages([ClipCutter(mode)], [clip(broken["missing end"], 0, 2)]).outputs
    assert done.data.encoded.frames == 50
    assert done.data.encoded.end == 2.0


def test_a_copy_has_frames_stored_after_the_damage(broken: dict[str, Path], tmp_path: Path) -> None:
    """Frames are stored after the frames they depend on, which are shown later."""
    with av.open(str(broken["missing end"])) as container:
        stored = [packet for packet in container.demux(video=0) if packet.size]
    times = [float(packet.pts * packet.time_base) for packet in stored]
    early = next(k for k in range(20, 40) if times[k] > times[k + 1])
    path = tmp_path / "shorter.mp4"
    whole = broken["missing end"].read_bytes()
    path.write_bytes(whole[: stored[early].pos + stored[early].size // 2])
    for end, is_whole in ((times[early], False), (max(times[:early]) + 0.04, True)):
        ran = run_stages([ClipCutter("copy")], [clip(path, 0, end)], on_error="quarantine")
        assert len(ran.outputs) == is_whole
        assert all(record.reason.endswith("damaged packets") for record in ran.report.quarantined)


def test_wrong_options_are_reported() -> None:
    [reported] = ClipCutter("exakt").check()  # type: ignore[arg-type]
    assert reported == "mode is 'exakt' (did you mean exact?)"
    [reported] = ClipCutter(encoder="libx26").check()
    assert "'libx26'" in reported
    assert "(did you mean libx26" in reported


@pytest.mark.parametrize(
    ("options", "reported"),
    [
        ({"quality": 52}, "quality is 52, but libx264 accepts 0 (best) to 51"),
        ({"quality": -1}, "quality is -1, but libx264 accepts 0 (best) to 51"),
        (
            {"encoder": "libsvtav1", "quality": 30.5},
            "quality is 30.5, but libsvtav1 accepts whole numbers only",
        ),
        (
            {"encoder": "libsvtav1", "quality": 64},
            "quality is 64, but libsvtav1 accepts 0 (best) to 63",
        ),
        (
            {"preset": "veryfastt"},
            "preset is 'veryfastt', which libx264 does not have (did you mean veryfast?)",
        ),
        (
            {"encoder": "libvpx-vp9", "preset": "veryfast"},
            "preset is 'veryfast', but libvpx-vp9 accepts 0 (best) to 8 (fastest)",
        ),
        (
            {"encoder": "mpeg4", "preset": "fast"},
            "preset is 'fast', but mpeg4 has none; leave it out",
        ),
    ],
)
def test_values_that_an_encoder_would_misinterpret_are_reported(
    options: dict[str, Any], reported: str
) -> None:
    if not VideoEncoder(options.get("encoder", "libx264")).is_available:
        pytest.skip("this av has no such encoder")
    assert list(ClipCutter(**options).check()) == [reported]


@pytest.mark.parametrize("name", available_encoders())
def test_the_limits_of_quality_and_preset_are_accepted(name: str) -> None:
    for quality in _QUALITY_RANGES[name]:
        for preset in (None, *_PRESETS[name][:1], *_PRESETS[name][-1:]):
            encoder = VideoEncoder(name, preset, quality)
            assert list(encoder.problems()) == []
            if "nvenc" not in name:
                encoder.check_starts()


def test_stage_contract(harbour: Path) -> None:
    check_stage(ClipCutter("copy"), clip(harbour))


def test_decoding_begins_with_the_first_keyframe(lossy: Path, tmp_path: Path) -> None:
    with av.open(str(lossy)) as container:
        places = [packet.pos for packet in container.demux(video=0) if packet.size]
    path = tmp_path / "begun.ts"
    path.write_bytes(lossy.read_bytes()[places[20] :])
    done = cut(ClipCutter("copy"), clip(path, 0.0, 1.5))
    assert 1.0 < done.start < 1.5
    assert len(pictures(done.content)) == done.frames
