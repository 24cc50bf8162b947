"""Sounds embedded in a page: an excerpt as a drawing and a player, without extra files."""

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

from curator_core.errors import CuratorError

from curator_audio.encoding import encode
from curator_audio.forms import SPEECH
from curator_audio.opening import UndecodableError
from curator_audio.reporting.drawings import Mark, drawing
from curator_audio.reporting.pictures import data_url
from curator_audio.reporting.rows import Row
from curator_audio.waveforms import Waveform

_BITS = 16_000
"""Bits per second of the embedded sound."""


@dataclass
class Sounds:
    """Make figures, with players while there is room for them in the page."""

    room: int
    """Characters of HTML left for all figures together."""

    def figure(self, row: Row, longest: float, caption: str, marks: Iterable[Mark] = ()) -> str:
        """Draw the beginning of a row, with a player and a caption."""
        try:
            wave = excerpt(row, longest)
        except (CuratorError, OSError) as error:
            told = f'<div class="gone">{escape(str(error))}</div>'
            return f"<figure>{told}<figcaption>{caption}</figcaption></figure>"
        drawn = drawing(wave.samples[0], wave.sample_rate, marks)
        cut = row.seconds is not None and row.seconds > wave.seconds + 0.1
        length = f"{wave.seconds:.1f} s" + (f" of {row.seconds:.0f} s" if cut else "")
        player = self._player(wave)
        made = (
            f"<figure>{drawn}{player}<figcaption>{caption} "
            f'<span class="length">{length}</span></figcaption></figure>'
        )
        self.room -= len(made)
        return made

    def _player(self, wave: Waveform) -> str:
        if wave.seconds * _BITS / 8 * 1.6 > self.room:
            return ""
        data = data_url(encode(wave, "opus", _BITS), "audio/ogg")
        return f'<audio controls preload="none" src="{data}"></audio>'


def excerpt(row: Row, longest: float) -> Waveform:
    """Decode the beginning of a row, up to `longest` seconds."""
    import numpy as np

    pieces, held = [], 0.0
    for block in row.batch().blocks(0, SPEECH):
        pieces.append(block.samples)
        held += block.seconds
        if held >= longest:
            break
    if not pieces:
        raise UndecodableError("it holds no samples")
    samples = np.hstack(pieces)[:, : round(longest * (SPEECH.sample_rate or 1))]
    return Waveform(samples, SPEECH.sample_rate or 1)
