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
