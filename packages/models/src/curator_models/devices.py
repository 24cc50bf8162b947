"""Devices: what a model stage requests, which device it gets, and which precision it uses."""

from functools import cache
from typing import TYPE_CHECKING, Literal, TypeAlias

from curator_core import Resources, WorkerInfo
from curator_core.logs import log
from curator_core.model.hardware import visible_gpus

if TYPE_CHECKING:
    import torch

LOG = log("curator_models")

Device: TypeAlias = Literal["auto", "cuda", "cpu"]
"""`auto` requests a GPU if this machine has one."""

Autocast: TypeAlias = bool | Literal["bf16", "fp16"]
"""True: half precision on a GPU, none on a CPU. By name: on a CPU too."""

_ONE_GPU = Resources(cpus=1.0, gpus=1.0)


def default_resources(device: Device, stage: str) -> Resources:
    """Return the default resources of a stage."""
    if device == "cpu":
        return Resources()
    if device == "auto" and not visible_gpus():
        _warn_without_gpu(stage)
        return Resources()
    return _ONE_GPU


@cache
def _warn_without_gpu(stage: str) -> None:
    LOG.warning(
        "stage %r will run on the CPU: this machine has no GPU (if the cluster has one, set device "
        "to 'cuda'; set it to 'cpu' to silence this warning)",
        stage,
    )


def choose_device(worker: WorkerInfo, requested: Resources, stage: str) -> "torch.device":
    """Return the worker's device: its GPU if the stage requested one and torch can use it."""
    import torch

    if not (requested.needs_gpu and worker.gpu_ids):
        return torch.device("cpu")
    if not torch.cuda.is_available():
        LOG.warning(
            "stage %r was granted a GPU, but this build of torch (%s) finds none: the stage runs "
            "on the CPU",
            stage,
            torch.__version__,
        )
        return torch.device("cpu")
    return torch.device(worker.device)


def choose_dtype(device: "torch.device", autocast: Autocast) -> "torch.dtype | None":
    """Return the half precision to use; None for single precision."""
    import torch

    if autocast is False or (autocast is True and device.type == "cpu"):
        return None
    if autocast is True:
        return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16
    return torch.bfloat16 if autocast == "bf16" else torch.float16


def limit_threads(worker: WorkerInfo) -> None:
    """Limit torch to the granted cores: by default it uses all of them, and its threads spin."""
    import torch

    torch.set_num_threads(max(1, int(worker.granted.cpus)))
