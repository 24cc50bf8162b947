"""Films are rendered once for all tests; the examples that make them have to be on the path."""

import sys
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest
from curator_video.clips import Clip, Span
from curator_video.probing import probe
from curator_video.sources import VideoSource

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
sys.path.insert(0, str(Path(__file__).parents[1] / "image" / "models"))  # tiny models of pictures
sys.path.insert(0, str(Path(__file__).parent))

if not (find_spec("torch") and find_spec("transformers")):
    collect_ignore = ["embedding", "models", "filters/test_models.py", "captioning/test_local.py"]


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


@pytest.fixture(scope="session")
def refreshed(videos: Path) -> Path:
    """Six seconds without keyframes but the first: parts of pictures are made anew in turns."""
    from corpus.films import Film, Shot
    from corpus.videos import Style, write_video

    film = Film([Shot(75, "pan"), Shot(75, "object")])
    style = Style(options={"x264-params": "intra-refresh=1"})
    return write_video(videos / "refreshed.mp4", film, style)


@pytest.fixture(scope="session")
def lossy(videos: Path) -> Path:
    """Six seconds as from a broadcast: pictures at about 2.6 s did not arrive."""
    import av
    from corpus.films import Film, Shot
    from corpus.videos import write_video

    path = write_video(videos / "lossy.ts", Film([Shot(150, "pan")]))
    with av.open(str(path)) as container:
        places = [packet.pos for packet in container.demux(video=0) if packet.size]
    content = path.read_bytes()
    path.write_bytes(content[: places[65]] + content[places[69] :])
    return path


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """The folder of a tiny model by its name."""
    import tiny_video_models

    root = tmp_path_factory.mktemp("video_models")

    @cache
    def saved(name: str) -> str:
        tiny_video_models.RECIPES[name](root / name)
        return str(root / name)

    return saved


@pytest.fixture
def one_thread() -> None:
    """Tiny matrices gain nothing by threads, and lose much where others use the cores."""
    import torch

    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def harbour_clips(harbour: Path) -> list[Clip]:
    """Two seconds of each of the three shots."""
    source = VideoSource(str(harbour))
    facts = probe(source)
    return [Clip(Span(source, facts, start, start + 2.0)) for start in (1.0, 5.0, 9.0)]
