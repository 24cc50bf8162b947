"""The executor that keeps every worker of a Ray cluster busy: `StreamingExecutor`."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from curator_streaming.executor import StreamingExecutor
    from curator_streaming.options import StreamingOptions
    from curator_streaming.serving import StreamingService

__all__ = [
    "StreamingExecutor",
    "StreamingOptions",
    "StreamingService",
]

_HOMES = {
    "StreamingExecutor": "executor",
    "StreamingOptions": "options",
    "StreamingService": "serving",
}


def __getattr__(name: str) -> Any:
    """Import Ray, and what is built on it, only when it is used."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
