"""Common parts of stages with models. Importing this loads neither torch nor transformers."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from curator_models.batching import MicroBatches, TooLongError
    from curator_models.endpoints import ChatEndpoint, EndpointError, NoAnswerError
    from curator_models.locating import ModelError, ModelSource
    from curator_models.pacing import Pace
    from curator_models.weights import Packaged, WeightsFile

__all__ = [
    "ChatEndpoint",
    "EndpointError",
    "MicroBatches",
    "ModelError",
    "ModelSource",
    "NoAnswerError",
    "Pace",
    "Packaged",
    "TooLongError",
    "WeightsFile",
]

_HOMES = {
    "ChatEndpoint": "endpoints",
    "EndpointError": "endpoints",
    "MicroBatches": "batching",
    "ModelError": "locating",
    "ModelSource": "locating",
    "NoAnswerError": "endpoints",
    "Pace": "pacing",
    "Packaged": "weights",
    "TooLongError": "batching",
    "WeightsFile": "weights",
}


def __getattr__(name: str) -> Any:
    """Import each part on first use: endpoints need nothing that models need."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
