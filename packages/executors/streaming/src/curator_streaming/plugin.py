"""What this package adds to Curator."""

from curator_core import hookimpl

EXPORTS = {
    "curator_streaming.options": ("StreamingOptions",),
    "curator_streaming.service": ("StreamingService",),
}
"""Public names besides what the hooks register, by module."""


@hookimpl
def curator_executors() -> dict[str, str]:
    return {"streaming": "curator_streaming.executor:StreamingExecutor"}
