"""Truncated files are rejected if their format has its size, and complete files never are."""

import io

import av
import pytest
from curator_audio.container import UndecodableError
from curator_audio.decoding import decode
from curator_audio.truncation import find_truncation
from curator_audio.waveform import NATIVE
from sounds import CODECS, encoded, voice, wav

RATES = {"amr": 8_000, "opus": 48_000, "mka": 48_000, "wma": 44_100}
WHOLE = {
    ending: encoded(voice(4, RATES.get(ending, 16_000)), RATES.get(ending, 16_000), ending)
    for ending in CODECS
}
WITHOUT_SIZE = {"aac", "amr", "ts"}
"""Formats that are a sequence of frames, without a header that has the size."""


@pytest.mark.parametrize("ending", CODECS)
def test_complete_files_are_accepted(ending: str) -> None:
    assert find_truncation(io.BytesIO(WHOLE[ending])) is None


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
@pytest.mark.parametrize("ending", sorted(set(CODECS) - WITHOUT_SIZE))
def test_truncated_files_are_rejected(ending: str, share: float) -> None:
    cut = WHOLE[ending][: int(len(WHOLE[ending]) * share)]
    with pytest.raises(UndecodableError, match=r"cut off"):
        decode(cut, NATIVE)


@pytest.mark.parametrize("ending", sorted(WITHOUT_SIZE))
def test_truncated_files_without_a_header_are_decoded(ending: str) -> None:
    cut = WHOLE[ending][: len(WHOLE[ending]) // 2]
    assert decode(cut, NATIVE).seconds == pytest.approx(2.0, abs=0.2)


def test_tags_at_either_end_make_no_difference() -> None:
    sound = WHOLE["mp3"]
    start = 10 + int.from_bytes(sound[6:10], "big") if sound[:3] == b"ID3" else 0
    picture = b"ID3\x04\0\0" + bytes([0, 0, 39, 8]) + b"\0" * 5_000
    assert find_truncation(io.BytesIO(picture + sound[start:] + b"TAG" + b"\0" * 125)) is None
    assert find_truncation(io.BytesIO((picture + sound[start:])[:-500])) is not None


def test_ogg_pages_that_end_with_the_file_are_complete() -> None:
    """A recording of a station may end at any page, without the mark of the last one."""
    sound = WHOLE["ogg"]
    cut = sound[: sound.rindex(b"OggS")]
    assert find_truncation(io.BytesIO(cut)) is None


def test_unknown_sizes_in_a_header_are_ignored() -> None:
    live = wav(voice(1))
    assert find_truncation(io.BytesIO(live[:4] + b"\xff\xff\xff\xff" + live[8:])) is None
    assert find_truncation(io.BytesIO(stream("matroska", "flac"))) is None
    for short in (b"RIFF", b"OggS\0", b"FORM", b"\x1a\x45\xdf\xa3", b"ID3\x04", b"\xff\xfb"):
        assert find_truncation(io.BytesIO(short)) in (None, (4, 8))


def stream(container_format: str, codec: str) -> bytes:
    """Return a recording written while it streams, so that its header has no size."""
    file = io.BytesIO()
    with av.open(file, "w", format=container_format, options={"live": "1"}) as container:
        track = container.add_stream(codec, rate=16_000, layout="mono")
        for _ in range(10):
            frame = av.AudioFrame(format="s16", layout="mono", samples=4_096)
            frame.sample_rate = 16_000
            container.mux(track.encode(frame))
    return file.getvalue()
