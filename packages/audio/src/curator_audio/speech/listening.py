"""Batched speech detection: feed the next stretch of many recordings to the detector."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from curator_audio.opening import UndecodableError
from curator_audio.speech.detectors import FRAME, SpeechDetector
from curator_audio.waveforms import Waveform

if TYPE_CHECKING:
    import numpy as np

STRETCH = FRAME * 312
"""About ten seconds."""


@dataclass
class _Stream:
    """A recording that is read in stretches."""

    row: int
    blocks: Iterator[Waveform]
    waiting: "np.ndarray | None" = None
    samples: int = 0
    over: bool = False
    said: "list[np.ndarray]" = field(default_factory=list)

    def next(self) -> "np.ndarray":
        import numpy as np

        held = [] if self.waiting is None else [self.waiting]
        size = sum(piece.size for piece in held)
        while size < STRETCH and not self.over:
            block = next(self.blocks, None)
            if block is None:
                self.over = True
            else:
                held.append(block.samples[0])
                size += held[-1].size
                self.samples += held[-1].size
        joined = np.concatenate(held) if held else np.zeros(0, np.float32)
        self.waiting = joined[STRETCH:]
        return joined[:STRETCH]

    @property
    def is_done(self) -> bool:
        return self.over and (self.waiting is None or not self.waiting.size)


@dataclass(frozen=True)
class Probabilities:
    """Probabilities of speech in a recording, one per 512 samples, and its number of samples."""

    values: "np.ndarray"
    samples: int


def probabilities(
    detector: SpeechDetector, recordings: Sequence[tuple[int, Iterator[Waveform]]]
) -> tuple[dict[int, Probabilities], dict[int, Exception]]:
    """Return probabilities by row, for sound at 16 kHz, and errors by row."""
    streams = [_Stream(row, blocks) for row, blocks in recordings]
    detector.begin(len(streams))
    failed: dict[int, Exception] = {}
    active = list(enumerate(streams))
    while active:
        stretches = _stretches(active, failed)
        _heard(detector, stretches)
        active = [(place, stream) for place, stream, _ in stretches if not stream.is_done]
    return {stream.row: _joined(stream) for stream in streams if stream.row not in failed}, failed


_Stretch = tuple[int, _Stream, "np.ndarray"]


def _stretches(
    active: Sequence[tuple[int, _Stream]], failed: dict[int, Exception]
) -> list[_Stretch]:
    found: list[_Stretch] = []
    for place, stream in active:
        try:
            samples = stream.next()
        except UndecodableError as error:
            failed[stream.row] = type(error)(str(error))
        else:
            found.append((place, stream, samples))
    return found


def _heard(detector: SpeechDetector, stretches: Sequence[_Stretch]) -> None:
    """Run the detector on stretches in groups of equal length, padded to whole frames."""
    import numpy as np
    import torch

    by_frames: dict[int, list[_Stretch]] = {}
    for stretch in stretches:
        by_frames.setdefault(-(-stretch[2].size // FRAME), []).append(stretch)
    for frames, group in by_frames.items():
        if not frames:
            continue
        padded = [np.pad(samples, (0, frames * FRAME - samples.size)) for _, _, samples in group]
        rows = torch.tensor([place for place, _, _ in group])
        told = detector.hear(torch.from_numpy(np.stack(padded)), rows).numpy()
        for (_, stream, _), values in zip(group, told, strict=True):
            stream.said.append(values)


def _joined(stream: _Stream) -> Probabilities:
    import numpy as np

    values = np.concatenate(stream.said) if stream.said else np.zeros(0, np.float32)
    return Probabilities(values, stream.samples)
