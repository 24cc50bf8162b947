"""Films are rendered once for all tests; the examples that make them have to be on the path."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))


@pytest.fixture(scope="session")
def videos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where rendered films are kept for as long as the tests run."""
    return tmp_path_factory.mktemp("videos")


@pytest.fixture(scope="session")
def broken(videos: Path) -> dict[str, Path]:
    from corpus.broken_videos import make_broken_videos

    return make_broken_videos(videos / "broken")


@pytest.fixture(scope="session")
def harbour(videos: Path) -> Path:
    """Twelve seconds in three shots, with B-frames, sound, and a keyframe every two seconds."""
    from corpus.films import Film, Shot
    from corpus.videos import Style, write_video

    film = Film([Shot(100, "pan"), Shot(100, "object"), Shot(100, "frozen")])
    return write_video(videos / "harbour.mp4", film, Style(audio="aac"))
