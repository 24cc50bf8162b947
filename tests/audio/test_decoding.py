"""Every codec is decoded at any rate, and damage is reported."""

import numpy as np
import pytest
from curator_audio.container import UndecodableError, open_container
from curator_audio.decoding import decode, decode_blocks
from curator_audio.waveform import NATIVE, SPEECH, AudioFormat
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sounds import CODECS, encoded, tone, voice, wav

RATES = {"amr": 8_000, "opus": 48_000, "mka": 48_000, "wma": 44_100}
RECORDED = {
    ending: encoded(tone(2, RATES.get(ending, 44_100)), RATES.get(ending, 44_100), ending)
    for ending in CODECS
}


def refusal(data: bytes | str, form: AudioFormat = SPEECH) -> str:
    with pytest.raises(UndecodableError) as caught:
        decode(data, form)
    return str(caught.value)


@pytest.mark.parametrize("ending", CODECS)
def test_a_tone_is_decoded_from_every_codec(ending: str) -> None:
    wave = decode(RECORDED[ending], SPEECH)
    assert wave.sample_rate == 16_000
    assert abs(wave.seconds - 2) < 0.1
    middle = wave.samples[0, 8_000:24_000]
    assert int(np.abs(np.fft.rfft(middle)).argmax()) == 440
    assert abs(np.sqrt((middle**2).mean()) - 0.3536) < 0.06


def test_native_format_keeps_rate_and_channels() -> None:
    samples = np.vstack([tone(0.5, 8_000), tone(0.5, 8_000, 880, 0.1)])
    wave = decode(wav(samples, 8_000, floats=True), NATIVE)
    assert wave.sample_rate == 8_000
    np.testing.assert_array_equal(wave.samples, samples)


@pytest.mark.parametrize("channels", [1, 2, 12])
@pytest.mark.parametrize("rate", [8_000, 44_100, 192_000])
def test_mono_is_the_mean_at_every_rate(rate: int, channels: int) -> None:
    samples = np.vstack([tone(1, rate, level=0.1 * (n % 3)) for n in range(channels)])
    wave = decode(wav(samples, rate, floats=True), SPEECH)
    assert wave.samples.shape == (1, 16_000)
    expected = tone(1, 16_000, level=float(np.mean([0.1 * (n % 3) for n in range(channels)])))
    np.testing.assert_allclose(wave.samples[0, 500:-500], expected[0, 500:-500], atol=1e-3)


def test_one_channel_can_be_chosen() -> None:
    data = wav(np.vstack([tone(1), tone(1, hertz=880)]), floats=True)
    np.testing.assert_array_equal(decode(data, AudioFormat(None, 1)).samples, tone(1, hertz=880))
    assert (
        refusal(data, AudioFormat(None, 2))
        == "channel 2 does not exist: the recording has 2, counted from 0"
    )


def test_best_quality_leaves_no_seam_and_no_alias() -> None:
    high = tone(25, 44_100, hertz=9_000)
    fast = decode(wav(high, 44_100, floats=True), SPEECH).samples[0, 500:-500]
    best = decode(wav(high, 44_100, floats=True), AudioFormat(16_000, "mono", "best")).samples
    assert np.abs(fast).max() < 1e-2
    assert np.abs(best[0, 500:-500]).max() < 1e-5


@pytest.mark.parametrize("count", [1, 2, 100])
@pytest.mark.parametrize("quality", ["fast", "best"])
def test_a_few_samples_are_a_recording(count: int, quality: str) -> None:
    data = wav(np.full((1, count), 0.5, np.float32), 8_000)
    wave = decode(data, AudioFormat(16_000, "mono", quality))  # type: ignore[arg-type]
    assert wave.samples.shape == (1, 2 * count)


def test_long_recordings_are_decoded_in_blocks() -> None:
    data = wav(tone(65))
    blocks = list(decode_blocks(data, SPEECH))
    assert len(blocks) == 7
    assert sum(block.samples.shape[1] for block in blocks) == 65 * 16_000


def test_damage_has_a_reason() -> None:
    sound = wav(tone(2))
    assert refusal(b"") == "the file is empty (0 bytes)"
    assert refusal(b"plain text, whatever its name " * 20).startswith(
        "not audio in a supported format (invalid data found when processing input); the format"
    )
    assert refusal(b"#EXTM3U\nhttp://example.org/a.wav\n").startswith(
        "not audio in a supported format"
    )
    assert refusal(wav(tone(0))) == "the recording has no samples"
    assert refusal(sound[:20_000]) == "cut off after 20000 of 64044 bytes"
    assert refusal("/nowhere/a.wav") == "the file does not exist"
    assert refusal("/") == "it is a folder, not a file"
    flac = RECORDED["flac"]
    assert "of 2.00 s" in refusal(flac[: len(flac) // 2]) or "damaged" in refusal(
        flac[: len(flac) // 2]
    )


def test_a_partial_frame_at_the_end_is_ignored() -> None:
    sound = RECORDED["mp3"]
    assert abs(decode(sound + sound[-400:-200], SPEECH).seconds - 2) < 0.1


def test_streams_that_appear_later_are_ignored() -> None:
    """A packet of a stream that was not announced, as in recordings of broadcasts."""
    late = bytes.fromhex("47430010000001e000008080052100010001")
    whole = encoded(tone(2, 44_100), 44_100, "ts")
    assert abs(decode(whole + late.ljust(188, b"\xff"), SPEECH).seconds - 2) < 0.1


def test_an_unknown_codec_is_reported() -> None:
    data = bytearray(RECORDED["m4a"])
    data[data.index(b"hdlr") - 3] ^= 1  # what follows is skipped, the codec with it
    assert refusal(bytes(data)) == "this FFmpeg does not support its audio codec"


@pytest.mark.parametrize("odd", [np.nan, np.inf])
def test_infinite_samples_and_nan_are_rejected(odd: float) -> None:
    samples = tone(1)
    samples[0, 5:8] = odd
    assert "3 samples after 0.00 s are infinite or NaN" in refusal(wav(samples, floats=True))


def flipped(data: bytes, places: list[tuple[float, int]]) -> bytes:
    changed = bytearray(data)
    for place, bit in places:
        changed[int(place * (len(data) - 1))] ^= 1 << bit
    return bytes(changed)


FLIPS = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 7)), min_size=1, max_size=30)
BEGINNINGS = st.lists(st.tuples(st.floats(0, 0.02), st.integers(0, 7)), min_size=1, max_size=5)
SHORT = {e: encoded(voice(0.5, r), r, e) for e in CODECS for r in [RATES.get(e, 44_100)]}


def survives(data: bytes) -> None:
    try:
        wave = decode(data, SPEECH)
    except UndecodableError:
        return
    assert np.isfinite(wave.samples).all()
    assert wave.seconds < 3_600


@pytest.mark.parametrize("ending", CODECS)
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(places=FLIPS | BEGINNINGS)
def test_flipped_bits_are_decoded_or_rejected(ending: str, places: list[tuple[float, int]]) -> None:
    survives(flipped(SHORT[ending], places))


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("ending", CODECS)
@settings(max_examples=500, deadline=None, suppress_health_check=list(HealthCheck))
@given(places=FLIPS | BEGINNINGS)
def test_many_flipped_bits_are_decoded_or_rejected(
    ending: str, places: list[tuple[float, int]]
) -> None:
    survives(flipped(SHORT[ending], places))


@pytest.mark.parametrize("path", ["ftp://127.0.0.1:1/a.wav", "http://127.0.0.1:1/a.wav", "a\0.wav"])
def test_a_path_that_data_may_not_name_is_rejected(path: str) -> None:
    with pytest.raises(UndecodableError, match=r"CURATOR_PRIVATE_HOSTS|NUL"), open_container(path):
        pass
