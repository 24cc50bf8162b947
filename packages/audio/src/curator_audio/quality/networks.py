"""Loading of networks: weights-only files and TorchScript."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from curator_models.locating import ModelError

from curator_audio.cutting import Piece


def weights_of(path: Path) -> Any:
    """Load weights without running code from the file."""
    import torch

    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # noqa: BLE001 - invalid files raise any error
        told = str(error).strip().partition("\n")[0]
        raise ModelError(f"{path} holds no weights that can be read safely: {told}") from None


def script_of(path: Path) -> Any:
    """Load a TorchScript network, which includes its code."""
    import torch

    try:
        with warnings.catch_warnings():  # the format is deprecated, but models still use it
            warnings.simplefilter("ignore", DeprecationWarning)
            return torch.jit.load(str(path), map_location="cpu").eval()  # type: ignore[no-untyped-call]
    except (RuntimeError, ValueError, OSError) as error:
        told = str(error).strip().partition("\n")[0]
        raise ModelError(f"{path} is no TorchScript: {told}") from None


def stacked(pieces: Sequence[Piece]) -> Any:
    """Stack sounds of similar length as rows; shorter ones are repeated instead of zero-padded."""
    import numpy as np
    import torch

    longest = max(piece.length for piece in pieces)
    return torch.from_numpy(np.stack([np.resize(piece.samples, longest) for piece in pieces]))
