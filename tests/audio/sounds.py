"""Synthetic recordings for tests, in every codec that can be written."""

import io
import struct
from itertools import pairwise
from pathlib import Path

import av
import numpy as np
from av.audio.resampler import AudioResampler
from numpy.typing import NDArray

Samples = NDArray[np.float32]

CODECS = {
    "wav": ("wav", "pcm_s16le"),
    "flac": ("flac", "flac"),
    "mp3": ("mp3", "libmp3lame"),
    "m4a": ("ipod", "aac"),
    "aac": ("adts", "aac"),
    "opus": ("ogg", "libopus"),
    "ogg": ("ogg", "flac"),
    "mka": ("matroska", "libopus"),
    "wma": ("asf", "wmav2"),
    "amr": ("amr", "libopencore_amrnb"),
    "ts": ("mpegts", "aac"),
}


def tone(seconds: float, rate: int = 16_000, hertz: float = 440.0, level: float = 0.5) -> Samples:
    moments = np.arange(round(seconds * rate)) / rate
    wave: Samples = (level * np.sin(2 * np.pi * hertz * moments)).astype(np.float32)[None]
    return wave


def voice(seconds: float, rate: int = 16_000, seed: int = 0) -> Samples:
    """Return vowels in a row: pulses of a voice through resonances, as in speech."""
    random = np.random.default_rng(seed)
    count = round(seconds * rate)
    moments = np.arange(count) / rate
    pitch = 120 + 15 * np.sin(2 * np.pi * 2.1 * moments)
    phase = 2 * np.pi * np.cumsum(pitch) / rate
    formants = [(700, 1220, 2600), (300, 2300, 3000), (500, 1000, 2400), (400, 1900, 2550)]
    sound = np.zeros(count)
    for first in range(0, count, rate // 5):
        piece = slice(first, first + rate // 5)
        chosen = formants[int(random.integers(len(formants)))]
        for harmonic in range(1, 30):
            hertz = 120 * harmonic
            gain = sum(1 / (1 + ((hertz - center) / 90) ** 2) for center in chosen)
            sound[piece] += gain * np.sin(harmonic * phase[piece])
    envelope = 0.6 + 0.4 * np.sin(2 * np.pi * 5 * moments)
    spoken: Samples = (0.1 * sound * envelope).astype(np.float32)[None]
    return spoken


def chatter(seconds: float, seed: int) -> Samples:
    """Return noise in bands that change eight times a second, at 16 kHz; each seed differs."""
    random = np.random.default_rng(seed)
    count = round(seconds * 16_000)
    sound = np.zeros(count)
    spectrum = np.fft.rfft(random.standard_normal(count))
    hertz = np.fft.rfftfreq(count, 1 / 16_000)
    edges = np.geomspace(150, 5_000, 17)
    for low, high in pairwise(edges):
        band = np.fft.irfft(np.where((hertz >= low) & (hertz < high), spectrum, 0), count)
        levels = 10 ** random.uniform(-2, 0, round(seconds * 8) + 2)
        moments = np.arange(count) / 2_000
        sound += band / band.std() * np.interp(moments, np.arange(len(levels)), levels)
    scaled: Samples = (0.2 * sound / np.abs(sound).max()).astype(np.float32)[None]
    return scaled


def wav(samples: Samples, rate: int = 16_000, *, floats: bool = False) -> bytes:
    """Return a WAV file with any number of channels, of integers or floats."""
    kind, width = (3, 4) if floats else (1, 2)
    rows = samples.T.astype("<f4") if floats else np.round(samples.T * 32767).astype("<i2")
    data, channels = rows.tobytes(), samples.shape[0]
    head = struct.pack(
        "<IHHIIHH", 16, kind, channels, rate, rate * channels * width, channels * width, width * 8
    )
    return (
        b"RIFF"
        + struct.pack("<I", 36 + len(data))
        + b"WAVEfmt "
        + head
        + b"data"
        + struct.pack("<I", len(data))
        + data
    )


def encoded(samples: Samples, rate: int, ending: str) -> bytes:
    """Return a mono recording in the codec of a file extension."""
    container_format, codec = CODECS[ending]
    buffer = io.BytesIO()
    with av.open(buffer, "w", format=container_format) as container:
        stream = container.add_stream(codec, rate=rate, layout="mono")
        if ending == "wma":
            stream.bit_rate = 64_000
        stream.open()
        frame = av.AudioFrame.from_ndarray(samples, format="fltp", layout="mono")
        frame.sample_rate, frame.pts = rate, 0
        resampler = AudioResampler(
            format=stream.format, layout="mono", rate=rate, frame_size=stream.frame_size or None
        )
        for piece in (*resampler.resample(frame), *resampler.resample(None)):
            container.mux(stream.encode(piece))
        container.mux(stream.encode(None))
    return buffer.getvalue()


def put(folder: Path, name: str, data: bytes) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)
    return str(folder / name)


def other_voice(seconds: float, seed: int) -> Samples:
    """Return the same vowels a third higher, as by a smaller person."""
    samples = voice(seconds * 1.34, seed=seed)[0]
    places = np.arange(round(seconds * 16_000)) * 1.34
    moved: Samples = np.interp(places, np.arange(len(samples)), samples).astype(np.float32)[None]
    return moved
