"""Motion vectors: how far the codec moved the blocks of a picture."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from av import VideoFrame
    from av.video.stream import VideoStream

CODECS = frozenset({"h264", "mpeg4", "mpeg2video", "h263"})
"""Decoders that export motion vectors. Those of HEVC, VP8, VP9 and AV1 do not."""

CELL = 8
"""Pixels: the smallest block size; all other block sizes are multiples of it."""

_BLOCKS = ((8, 8), (16, 16), (16, 8), (8, 16))


def export_vectors(stream: "VideoStream") -> None:
    """Let the decoder export motion vectors. Call it before the first picture is decoded."""
    from av.codec.context import Flags2

    stream.codec_context.flags2 |= Flags2.export_mvs


def motion_grid(frame: "VideoFrame") -> NDArray[np.float32]:
    """Return how far each cell moved, as a share of picture width plus height.

    A picture without vectors, such as a keyframe, gives an empty grid.
    """
    vectors = _vectors_of(frame)
    rows, columns = -(-frame.height // CELL), -(-frame.width // CELL)
    if vectors is None:
        return np.zeros((0, 0), np.float32)
    grid = np.zeros((rows, columns), np.float32)
    moved = np.hypot(vectors["motion_x"], vectors["motion_y"]) / vectors["motion_scale"]
    moved = (moved / (frame.width + frame.height)).astype(np.float32)
    for width, height in _BLOCKS:
        chosen = (vectors["w"] == width) & (vectors["h"] == height)
        if chosen.any():
            _lay_out(grid, vectors[chosen], moved[chosen], (width, height))
    return grid


def _vectors_of(frame: "VideoFrame") -> NDArray[Any] | None:
    from av.sidedata.sidedata import SideDataContainer

    # Not `frame.side_data`: frame and data would reference each other. Large frames would then fill
    # the memory before the garbage collector runs, because there are few objects.
    found: Any = SideDataContainer(frame)  # type: ignore[call-arg]  # missing in the stub
    for one in found:
        if one.type.name == "MOTION_VECTORS":
            vectors: NDArray[Any] = one.to_ndarray()
            return vectors[vectors["motion_scale"] > 0]
    return None


def _lay_out(
    grid: NDArray[np.float32],
    vectors: NDArray[Any],
    moved: NDArray[np.float32],
    size: tuple[int, int],
) -> None:
    left = (vectors["dst_x"].astype(int) - size[0] // 2) // CELL
    top = (vectors["dst_y"].astype(int) - size[1] // 2) // CELL
    rows, columns = grid.shape
    for down in range(size[1] // CELL):
        for across in range(size[0] // CELL):
            row = np.clip(top + down, 0, rows - 1)
            column = np.clip(left + across, 0, columns - 1)
            grid[row, column] = moved
