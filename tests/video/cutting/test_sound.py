"""The sound of clips: copied, encoded if the file cannot hold it, or left out with a reason."""

import io
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from curator_core.testing import run_stage
from curator_video.cutting.cutter import ClipCutter
from curator_video.cutting.sound import UnsupportedSoundError, cut_with_sound
from curator_video.probing import probe
from curator_video.source import VideoSource
from curator_video.tasks import Clip, ClipSpan, EncodedClip

MODES = ("exact", "copy")
CASES = {
    "G.711 of a camera": ("pcm_mulaw", 8000),
    "Nellymoser": ("nellymoser", 22050),
}


def film(path: Path, codec: str, rate: int = 48000, from_s: float = 0.0) -> Path:
    """Write four seconds of video; its sound begins at `from_s` and clicks every second."""
    with av.open(str(path), "w") as container:
        track: Any = container.add_stream("mpeg4" if path.suffix == ".avi" else "libx264", rate=25)
        track.width, track.height, track.pix_fmt = 64, 48, "yuv420p"
        track.options = {} if path.suffix == ".avi" else {"x264-params": "threads=1:keyint=25"}
        sound: Any = container.add_stream(codec, rate=rate, layout="mono")
        sound.codec_context.bit_rate = 64_000
        sound.codec_context.open()
        for number in range(100):
            frame = av.VideoFrame.from_ndarray(np.full((48, 64), 2 * number, np.uint8), "gray")
            frame.pts, frame.time_base = number, Fraction(1, 25)
            container.mux(track.encode(frame.reformat(format="yuv420p")))
        container.mux(track.encode(None))
        for piece in clicking(rate, from_s, sound.codec_context.frame_size or 1024):
            container.mux(sound.encode(piece))
        container.mux(sound.encode(None))
    return path


def clicking(rate: int, from_s: float, size: int) -> Iterator[av.AudioFrame]:
    for start in range(int(from_s * rate), 4 * rate, size):
        at = np.arange(start, start + size)
        wave = np.where(at % rate < rate // 100, 0.8 * np.sin(at * 6000 / rate), 0.0)
        frame = av.AudioFrame.from_ndarray((wave * 32767).astype(np.int16)[None], "s16", "mono")
        frame.sample_rate, frame.pts, frame.time_base = rate, start, Fraction(1, rate)
        yield frame


def cut(path: Path, mode: Any, start: float = 1.5, end: float = 3.5) -> EncodedClip:
    source = VideoSource(str(path))
    [done] = run_stage(ClipCutter(mode), Clip(ClipSpan(source, probe(source), start, end)))
    made: EncodedClip = done.data.encoded
    return made


def clicks(made: EncodedClip) -> list[float]:
    """Return the times of clicks, from the start of the source."""
    found: list[float] = []
    with av.open(io.BytesIO(made.content)) as container:
        for frame in container.decode(audio=0):
            kind = frame.format.name
            wave = np.abs(frame.to_ndarray()[0].astype(float)) / (32768 if "s16" in kind else 1)
            at = np.flatnonzero(wave > 0.3)
            if at.size:
                time = float(frame.time) + made.start + at[0] / frame.sample_rate
                if not found or time > found[-1] + 0.5:
                    found.append(time)
    return found


def sound_of(made: EncodedClip) -> str | None:
    audio = probe(VideoSource(f"clip.{made.extension}", content=made.content)).audio
    return audio and audio.codec


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("codec", "rate"), CASES.values(), ids=CASES)
def test_sound_that_no_container_can_hold_becomes_aac(
    tmp_path: Path, codec: str, rate: int, mode: Any
) -> None:
    path = film(tmp_path / "film.mov", codec, rate)
    source = probe(VideoSource(str(path))).audio
    assert source is not None
    made = cut(path, mode)
    assert made.audio == sound_of(made) == "aac"
    assert made.changes == (f"sound encoded as aac, was {source.codec}",)
    assert clicks(made)[-2:] == pytest.approx([2.0, 3.0], abs=0.03)


@pytest.mark.parametrize("codec", ["pcm_mulaw", "pcm_s16le", "mp2", "aac", "ac3"])
def test_avi_copies_have_pcm_sound(tmp_path: Path, codec: str) -> None:
    made = cut(film(tmp_path / "film.avi", codec, 8000 if "law" in codec else 48000), "copy")
    assert (made.extension, made.audio, sound_of(made)) == ("avi", "pcm_s16le", "pcm_s16le")
    assert clicks(made)[-2:] == pytest.approx([2.0, 3.0], abs=0.08)
    has_changes = bool(made.changes)
    assert has_changes == (codec != "pcm_s16le")


@pytest.mark.parametrize("mode", MODES)
def test_copied_sound_is_not_a_change(tmp_path: Path, mode: Any) -> None:
    made = cut(film(tmp_path / "film.mp4", "aac"), mode)
    assert (made.audio, made.changes) == ("aac", ())


@pytest.mark.parametrize("mode", MODES)
def test_sound_that_starts_late_stays_in_sync(tmp_path: Path, mode: Any) -> None:
    made = cut(film(tmp_path / "film.mov", "pcm_mulaw", 8000, from_s=2.5), mode)
    assert clicks(made) == pytest.approx([3.0], abs=0.02)
    assert made.changes[1].startswith("sound is missing in part: it covers")


@pytest.mark.parametrize("mode", MODES)
def test_missing_sound_is_reported_with_the_reason(tmp_path: Path, mode: Any) -> None:
    path = film(tmp_path / "film.mov", "pcm_mulaw", 8000, from_s=3.0)
    made = cut(path, mode, 0.0, 1.0)
    assert (made.audio, sound_of(made)) == (None, None)
    [change] = made.changes
    assert change.startswith("sound left out: ")


@pytest.mark.parametrize("codec", ["wmav2", "adpcm_ms"])
def test_wma_and_adpcm_become_aac(tmp_path: Path, codec: str) -> None:
    made = cut(film(tmp_path / "film.avi", codec, 44100), "exact")
    assert (made.extension, made.audio) == ("mp4", "aac")
    assert clicks(made)[-2:] == pytest.approx([2.0, 3.0], abs=0.08)


def test_undecodable_sound_is_left_out(tmp_path: Path) -> None:
    path = film(tmp_path / "film.avi", "wmav2", 44100)
    with av.open(str(path)) as container:
        sounds = [bytes(packet) for packet in container.demux(audio=0) if packet.size]
    content = path.read_bytes()
    for packet in sounds:
        content = content.replace(packet, b"\xff" * len(packet))
    path.write_bytes(content)
    made = cut(path, "exact")
    assert (made.frames, made.audio, sound_of(made)) == (50, None, None)
    assert made.changes == ("sound left out: its wmav2 cannot be decoded",)


def test_sound_is_copied_else_encoded_else_left_out() -> None:
    tried: list[str] = []

    def make(way: str) -> EncodedClip:
        tried.append(way)
        if way != "none":
            raise UnsupportedSoundError("no such codec here")
        return EncodedClip(b"", 0, 1, 25, "h264", "exact", changes=("deinterlaced",))

    assert cut_with_sound(make).changes == ("deinterlaced", "sound left out: no such codec here")
    assert tried == ["copied", "encoded", "none"]


def test_changes_are_in_the_metadata_and_the_index(tmp_path: Path) -> None:
    from curator_video.writers.clip_metadata import clip_metadata, index_row

    source = VideoSource(str(film(tmp_path / "film.mov", "pcm_mulaw", 8000)))
    [done] = run_stage(ClipCutter(), Clip(ClipSpan(source, probe(source), 0, 2)))
    change = "sound encoded as aac, was pcm_mulaw"
    page = clip_metadata(done, None, None)["cut"]
    assert (page["audio"], page["changes"]) == ("aac", [change])
    row = index_row(done, None)
    assert (row["audio"], row["changes"]) == ("aac", change)
    again = Clip.from_payload(done.to_payload())
    assert again.data.encoded == done.data.encoded
    assert again.data.facts == done.data.facts
