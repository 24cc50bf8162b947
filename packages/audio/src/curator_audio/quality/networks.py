"""Networks that give numbers for sound, from files that hold nothing but them, or TorchScript."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from curator_models.locating import ModelError

from curator_audio.cutting import Piece


def weights_of(path: Path) -> Any:
    """The weights in a file, read so that it can bring nothing else."""
    import torch

    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # noqa: BLE001 - bytes that are no weights raise anything
        told = str(error).strip().partition("\n")[0]
        raise ModelError(f"{path} holds no weights that can be read safely: {told}") from None


def script_of(path: Path) -> Any:
    """A network that was stored with its own code, as TorchScript."""
    import torch

    try:
        with warnings.catch_warnings():  # the format is old, but models come in it
            warnings.simplefilter("ignore", DeprecationWarning)
            return torch.jit.load(str(path), map_location="cpu").eval()  # type: ignore[no-untyped-call]
    except (RuntimeError, ValueError, OSError) as error:
        told = str(error).strip().partition("\n")[0]
        raise ModelError(f"{path} is no TorchScript: {told}") from None


def stacked(pieces: Sequence[Piece]) -> Any:
    """Sounds of nearly one length as rows; shorter ones are repeated, not silent at the end."""
    import numpy as np
    import torch

    longest = max(piece.length for piece in pieces)
    return torch.from_numpy(np.stack([np.resize(piece.samples, longest) for piece in pieces]))
