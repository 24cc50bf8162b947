"""Turns: who speaks from when to when, as a column and as statistics."""

from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa

TURNS = pa.list_(
    pa.struct([("start", pa.float64()), ("end", pa.float64()), ("speaker", pa.string())])
)
TURNS_COLUMN, SPEAKERS_COLUMN, OVERLAP_COLUMN = "turns", "num_speakers", "speaker_overlap"


class Turn(NamedTuple):
    start: float
    end: float
    speaker: str


def joined(turns: Sequence[Turn], gap: float) -> list[Turn]:
    """Sort turns, and merge turns of one speaker with pauses up to `gap` seconds."""
    found: list[Turn] = []
    for turn in sorted(turns):
        last = found[-1] if found else None
        if last and last.speaker == turn.speaker and turn.start - last.end <= gap:
            found[-1] = Turn(last.start, max(last.end, turn.end), last.speaker)
        else:
            found.append(turn)
    return found


def overlap(turns: Sequence[Turn]) -> float:
    """Return the share of speaking time in which several people speak."""
    moments = sorted([(t.start, 1) for t in turns] + [(t.end, -1) for t in turns])
    speaking = 0
    spoken = together = before = 0.0
    for moment, change in moments:
        spoken += (moment - before) * (speaking > 0)
        together += (moment - before) * (speaking > 1)
        speaking, before = speaking + change, moment
    return together / spoken if spoken else 0.0


def told(turns: Sequence[Sequence[Turn]]) -> dict[str, pa.Array]:
    """Return the columns for the turns of each row."""
    return {
        TURNS_COLUMN: pa.array([[turn._asdict() for turn in row] for row in turns], TURNS),
        SPEAKERS_COLUMN: pa.array([len({t.speaker for t in row}) for row in turns], pa.int64()),
        OVERLAP_COLUMN: pa.array([overlap(row) for row in turns], pa.float64()),
    }
