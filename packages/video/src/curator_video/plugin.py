"""What this package adds to Curator."""

from curator_core.hookspecs import hookimpl


@hookimpl
def curator_stages() -> dict[str, str]:
    return {
        "video.video_reader": "curator_video.reading:VideoReader",
    }
