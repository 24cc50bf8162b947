"""Weights of Silero's detector: from a path, or from the installed wheel."""

import hashlib
import warnings
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from curator_core import CuratorError

if TYPE_CHECKING:
    import torch

PACKAGE = "silero_vad"
_FILE = Path("data", "silero_vad.jit")
"""The .safetensors file in the same folder holds different weights."""


class DetectorError(CuratorError):
    """The speech detector is missing or is a different network."""


@dataclass(frozen=True)
class DetectorWeights:
    """Tensors by the names used in the wheel, and the digest of their file."""

    tensors: "dict[str, torch.Tensor]"
    digest: str


def locate(path: str | None) -> Path:
    """Return the file of the weights; raise an error with the install command if it is missing."""
    if path is not None:
        found = Path(path).expanduser()
        if not found.is_file():
            raise DetectorError(f"no detector of speech at {path}: give the path of silero_vad.jit")
        return found
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise DetectorError(
            "the detector of speech is not installed: pip install 'curator-audio[models]', or give "
            "the path of silero_vad.jit as weights"
        )
    return Path(spec.origin).parent / _FILE


def _state_of(path: Path) -> "dict[str, torch.Tensor]":
    import torch

    with warnings.catch_warnings():  # only this format has the right weights
        warnings.simplefilter("ignore", DeprecationWarning)
        network: Any = torch.jit.load(str(path), map_location="cpu")  # type: ignore[no-untyped-call]
    state: dict[str, torch.Tensor] = network.state_dict()
    return state


def _refuse_other_spectra(basis: "torch.Tensor") -> None:
    """Raise ValueError unless the first layer is a windowed Fourier transform."""
    import torch

    window = torch.eye(basis.shape[-1]) * basis[0, 0]
    spectra = torch.fft.rfft(window).T
    if not torch.allclose(torch.cat((spectra.real, spectra.imag)), basis[:, 0], atol=1e-4):
        raise ValueError("its spectra are not those of Silero's network")


def load(path: str | None) -> DetectorWeights:
    found = locate(path)
    try:
        state = _state_of(found)
        tensors = {name: tensor.detach().clone() for name, tensor in state.items()}
        _refuse_other_spectra(tensors["_model.stft.forward_basis_buffer"])
    except (RuntimeError, KeyError, ValueError) as error:
        told = str(error).strip().partition("\n")[0]
        raise DetectorError(f"{found} holds no detector of speech: {told}") from None
    return DetectorWeights(tensors, hashlib.sha256(found.read_bytes()).hexdigest()[:16])
