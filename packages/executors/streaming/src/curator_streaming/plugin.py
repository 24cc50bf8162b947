"""What this package adds to Curator."""

from curator_core.plugins.hookspecs import hookimpl


@hookimpl
def curator_executors() -> dict[str, str]:
    return {"streaming": "curator_streaming.executor:StreamingExecutor"}
