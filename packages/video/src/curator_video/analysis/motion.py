"""Motion of a clip, from the motion vectors of its codec."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from av import VideoFrame
    from av.video.stream import VideoStream

MOTION_VECTOR_CODECS = frozenset({"h264", "mpeg4", "mpeg2video", "h263"})
"""Decoders that export motion vectors. Those of HEVC, VP8, VP9 and AV1 do not."""

CELL = 8
"""Pixels: the smallest block size; all other block sizes are multiples of it."""

_BLOCKS = ((8, 8), (16, 16), (16, 8), (8, 16))


def export_motion_vectors(stream: "VideoStream") -> None:
    """Let the decoder export motion vectors. Call it before the first frame is decoded."""
    from av.codec.context import Flags2

    stream.codec_context.flags2 |= Flags2.export_mvs


def motion_grid(frame: "VideoFrame") -> NDArray[np.float32]:
    """Return how far each cell moved, as a share of frame width plus height.

    A frame without vectors, such as a keyframe, gives an empty grid.
    """
    vectors = _motion_vectors(frame)
    rows, columns = -(-frame.height // CELL), -(-frame.width // CELL)
    if vectors is None:
        return np.zeros((0, 0), np.float32)
    grid = np.zeros((rows, columns), np.float32)
    moved = np.hypot(vectors["motion_x"], vectors["motion_y"]) / vectors["motion_scale"]
    moved = (moved / (frame.width + frame.height)).astype(np.float32)
    for width, height in _BLOCKS:
        chosen = (vectors["w"] == width) & (vectors["h"] == height)
        if chosen.any():
            _fill_cells(grid, vectors[chosen], moved[chosen], (width, height))
    return grid


def _motion_vectors(frame: "VideoFrame") -> NDArray[Any] | None:
    from av.sidedata.sidedata import SideDataContainer

    # Not `frame.side_data`: frame and data would reference each other. Large frames would then fill
    # the memory before the garbage collector runs, because there are few objects.
    side_data: Any = SideDataContainer(frame)  # type: ignore[call-arg]  # missing in the stub
    for one in side_data:
        if one.type.name == "MOTION_VECTORS":
            vectors: NDArray[Any] = one.to_ndarray()
            return vectors[vectors["motion_scale"] > 0]
    return None


def _fill_cells(
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


@dataclass(frozen=True)
class ClipMotion:
    """Motion over a clip: the mean, and the minimum over patches."""

    mean: float
    patch_minimum: float
    frames: int


def mean_motion(
    grids: Sequence[NDArray[np.float32]], width: int, height: int, patch: int
) -> ClipMotion | None:
    """Return the motion over several frames, or None where no frame has motion vectors."""
    grids = [grid for grid in grids if grid.size]
    if not grids:
        return None
    mean = np.mean(grids, axis=0)
    weights = np.outer(_cell_sizes(height, mean.shape[0]), _cell_sizes(width, mean.shape[1]))
    return ClipMotion(
        float((mean * weights).sum() / (width * height)),
        _quietest_patch(mean, max(1, patch // CELL)),
        len(grids),
    )


def _cell_sizes(side: int, cells: int) -> NDArray[np.float64]:
    """Return the pixels of each cell; the last cell may extend beyond the frame."""
    sizes = np.full(cells, float(CELL))
    sizes[-1] = side - CELL * (cells - 1)
    return sizes


def _quietest_patch(mean: NDArray[np.float32], patch: int) -> float:
    """Return the mean of the patch with the least motion; smaller frames count as one patch."""
    rows, columns = max(1, mean.shape[0] // patch), max(1, mean.shape[1] // patch)
    patches = [
        part.mean()
        for band in np.array_split(mean, rows, axis=0)
        for part in np.array_split(band, columns, axis=1)
    ]
    return float(min(patches))
