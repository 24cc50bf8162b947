# Generated from the package's list of public names: run `hatch run generate`.
from curator_streaming.executor import StreamingExecutor as StreamingExecutor
from curator_streaming.options import StreamingOptions as StreamingOptions
from curator_streaming.service import StreamingService as StreamingService

__all__ = [
    "StreamingExecutor",
    "StreamingOptions",
    "StreamingService",
]
