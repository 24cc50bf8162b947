"""Encoding: waveforms as files of WAV, FLAC or Opus, in memory."""

import io
from typing import Any, Literal, TypeAlias

from curator_audio.cores import one_core
from curator_audio.waveforms import Waveform

Format: TypeAlias = Literal["flac", "wav", "opus"]

_CODECS: dict[str, tuple[str, str, str]] = {
    "flac": ("flac", "flac", "s16"),
    "wav": ("wav", "pcm_s16le", "s16"),
    "opus": ("ogg", "libopus", "flt"),
}
OPUS_RATES = (8_000, 12_000, 16_000, 24_000, 48_000)
MOST_CHANNELS = {"flac": 8, "wav": 64, "opus": 2}


def encode(wave: Waveform, kind: Format, bit_rate: int | None = None) -> bytes:
    """The bytes of a file; the same waveform gives the same bytes. Opus may have a bit rate."""
    import av

    container_format, codec, sample_format = _CODECS[kind]
    file = io.BytesIO()
    with av.open(
        file, "w", format=container_format, container_options={"fflags": "+bitexact"}
    ) as container:
        layout = _layout(wave.samples.shape[0])
        stream: Any = container.add_stream(codec, rate=wave.sample_rate, layout=layout)
        stream.format = sample_format
        if bit_rate is not None:
            stream.bit_rate = bit_rate
        stream.codec_context.options = {"flags": "+bitexact"}
        stream.open()
        frames = _frames(wave, sample_format, layout, stream.frame_size)
        first = next(frames, None)
        if first is not None:
            with one_core():  # here FFmpeg decides how many threads convert its samples
                packets = stream.encode(first)
            container.mux(packets)
        for frame in frames:
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return file.getvalue()


def _layout(channels: int) -> str:
    return {1: "mono", 2: "stereo"}.get(channels, f"{channels} channels")


def _frames(wave: Waveform, sample_format: str, layout: str, size: int) -> Any:
    import av
    import numpy as np

    values = np.clip(wave.samples, -1.0, 1.0)
    if sample_format == "s16":
        values = np.round(values * 32767).astype(np.int16)
    size = size or 4096
    for first in range(0, values.shape[1], size):
        piece = values[:, first : first + size].T.reshape(1, -1)
        frame = av.AudioFrame.from_ndarray(
            np.ascontiguousarray(piece), format=sample_format, layout=layout
        )
        frame.sample_rate, frame.pts = wave.sample_rate, first
        yield frame
