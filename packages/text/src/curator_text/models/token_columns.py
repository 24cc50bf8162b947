"""Tokens as columns hold them: a list of numbers for each text, null where there is none."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import pyarrow as pa

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

TOKENS = "_curator_tokens"
"""The column in which tokens travel from the stage that makes them to the one that reads them."""

Side: TypeAlias = Literal["left", "right"]


def as_column(tokens: Sequence[Sequence[int] | None]) -> pa.Array:
    return pa.array(tokens, pa.list_(pa.int32()))


@dataclass(frozen=True)
class TokenRows:
    """The tokens of the rows that have any, end to end."""

    rows: list[int]
    """Their places in the table."""
    lengths: list[int]
    _starts: "npt.NDArray[np.int64]"
    _values: "npt.NDArray[np.int32]"

    @classmethod
    def of(cls, column: pa.ChunkedArray) -> "TokenRows":
        import numpy as np

        lists = column.combine_chunks()
        ends = lists.offsets.to_numpy()
        lengths = np.diff(ends)
        rows = np.flatnonzero(lengths)
        values = lists.values.to_numpy(zero_copy_only=False)
        return cls(rows.tolist(), lengths[rows].tolist(), ends[rows], values)

    def padded(self, places: Sequence[int], pad: int, side: Side = "right") -> tuple[Any, Any]:
        """Two tables of some of the rows: tokens, filled up with `pad`, and 1 where they are."""
        import numpy as np

        longest = max(self.lengths[place] for place in places)
        ids = np.full((len(places), longest), pad, np.int64)
        mask = np.zeros((len(places), longest), np.int64)
        for row, place in enumerate(places):
            length, start = self.lengths[place], self._starts[place]
            part = slice(0, length) if side == "right" else slice(longest - length, longest)
            ids[row, part] = self._values[start : start + length]
            mask[row, part] = 1
        return ids, mask
