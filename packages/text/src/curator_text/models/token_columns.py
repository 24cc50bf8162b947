"""Token columns: a list of token ids per text, null if there are none."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import pyarrow as pa

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

TOKENS = "_curator_tokens"
"""The column that carries tokens from the tokenizing stage to the model stage."""

Side: TypeAlias = Literal["left", "right"]


def as_column(tokens: Sequence[Sequence[int] | None]) -> pa.Array:
    return pa.array(tokens, pa.list_(pa.int32()))


@dataclass(frozen=True)
class TokenRows:
    """The tokens of all rows that have any, concatenated."""

    rows: list[int]
    """Their row numbers in the table."""
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
        """Return padded tokens of some rows, and a mask that is 1 where tokens are."""
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
