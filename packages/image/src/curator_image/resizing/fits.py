"""Fits: how to turn a picture of one size into another."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

ResizeMode: TypeAlias = Literal[
    "keep_ratio", "keep_ratio_largest", "center_crop", "border", "stretch"
]
"""The shorter side gets the size; the longer side gets it; cover the size and crop; fit into the
size and add a border; or ignore the aspect ratio."""

Size: TypeAlias = tuple[int, int]


@dataclass(frozen=True)
class Fit:
    """Scale the whole picture, then crop or pad it to the canvas."""

    scaled: Size
    canvas: Size

    def changes(self, size: Size) -> bool:
        return not self.scaled == self.canvas == size


def fit_for(size: Size, wanted: Size, mode: ResizeMode, *, enlarge: bool) -> Fit:
    """Return how to turn an upright picture of `size` into the wanted size."""
    width, height = size
    if mode == "stretch":
        target = wanted if enlarge or (wanted[0] <= width and wanted[1] <= height) else size
        return Fit(target, target)
    scale = _scale(size, wanted, mode)
    scale = scale if enlarge else min(scale, 1.0)
    scaled = _scaled(size, scale)
    if mode == "center_crop":
        return Fit(scaled, (min(scaled[0], wanted[0]), min(scaled[1], wanted[1])))
    return Fit(scaled, wanted if mode == "border" else scaled)


def _scale(size: Size, wanted: Size, mode: ResizeMode) -> float:
    if mode == "keep_ratio":
        return wanted[0] / min(size)
    if mode == "keep_ratio_largest":
        return wanted[0] / max(size)
    ratios = wanted[0] / size[0], wanted[1] / size[1]
    return max(ratios) if mode == "center_crop" else min(ratios)


def _scaled(size: Size, scale: float) -> Size:
    width, height = (max(1, round(side * scale)) for side in size)
    return width, height
