"""Speaker turns: their column, merging, and statistics."""

from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa

TURNS = pa.list_(
    pa.struct([("start", pa.float64()), ("end", pa.float64()), ("speaker", pa.string())])
)

TURNS_COLUMN, SPEAKERS_COLUMN, OVERLAP_COLUMN = "turns", "num_speakers", "speaker_overlap"


class SpeakerTurn(NamedTuple):
    start: float
    end: float
    speaker: str


def merge_turns(turns: Sequence[SpeakerTurn], gap: float) -> list[SpeakerTurn]:
    """Sort turns, and merge turns of one speaker with pauses up to `gap` seconds."""
    found: list[SpeakerTurn] = []
    for turn in sorted(turns):
        last = found[-1] if found else None
        if last and last.speaker == turn.speaker and turn.start - last.end <= gap:
            found[-1] = SpeakerTurn(last.start, max(last.end, turn.end), last.speaker)
        else:
            found.append(turn)
    return found


def overlap_share(turns: Sequence[SpeakerTurn]) -> float:
    """Return the share of speaking time in which several people speak."""
    moments = sorted([(t.start, 1) for t in turns] + [(t.end, -1) for t in turns])
    speaking = 0
    spoken = overlapping = before = 0.0
    for moment, change in moments:
        spoken += (moment - before) * (speaking > 0)
        overlapping += (moment - before) * (speaking > 1)
        speaking, before = speaking + change, moment
    return overlapping / spoken if spoken else 0.0


def turn_columns(turns: Sequence[Sequence[SpeakerTurn]]) -> dict[str, pa.Array]:
    """Return the columns for the turns of each row."""
    return {
        TURNS_COLUMN: pa.array([[turn._asdict() for turn in row] for row in turns], TURNS),
        SPEAKERS_COLUMN: pa.array([len({t.speaker for t in row}) for row in turns], pa.int64()),
        OVERLAP_COLUMN: pa.array([overlap_share(row) for row in turns], pa.float64()),
    }
