"""Measures by name: the listener that computes each one."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from curator_audio.measuring.bands import Bandwidth
from curator_audio.measuring.levels import (
    ChannelCount,
    Clipping,
    DcOffset,
    Duration,
    Peak,
    SampleRate,
    SilenceShare,
)
from curator_audio.measuring.loudness import IntegratedLoudness
from curator_audio.measuring.noises import SignalToNoise
from curator_audio.spans import Listener
from curator_audio.waveforms import Waveform

Answer: TypeAlias = float | None

MEASURES: dict[str, Callable[[], Listener[Answer]]] = {
    "duration": Duration,
    "sample_rate": SampleRate,
    "channels": ChannelCount,
    "bandwidth_hz": Bandwidth,
    "peak_db": Peak,
    "clipping": Clipping,
    "dc_offset": DcOffset,
    "silence": SilenceShare,
    "snr_db": SignalToNoise,
    "loudness_lufs": IntegratedLoudness,
}


@dataclass
class Together:
    """Run several measures over one pass of a recording."""

    listeners: list[Listener[Answer]]

    def hear(self, piece: Waveform) -> None:
        for listener in self.listeners:
            listener.hear(piece)

    def answer(self) -> list[Answer]:
        return [listener.answer() for listener in self.listeners]
