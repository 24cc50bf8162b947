"""Test videos, rendered once per session by the corpus of examples/."""

import sys
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest
from curator_core import AnyStage
from curator_video.probing import probe
from curator_video.source import VideoSource
from curator_video.tasks import Clip, ClipSpan

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
sys.path.insert(0, str(Path(__file__).parents[1] / "image" / "models"))  # tiny image models
sys.path.insert(0, str(Path(__file__).parent))

if not (find_spec("torch") and find_spec("transformers")):
    collect_ignore = ["embeddings", "filters/test_models.py", "captions/test_local.py"]


@pytest.fixture(scope="session")
def videos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder for test videos that several tests share."""
    return tmp_path_factory.mktemp("videos")


@pytest.fixture(scope="session")
def broken(videos: Path) -> dict[str, Path]:
    from corpus.broken_videos import make_broken_videos

    return make_broken_videos(videos / "broken")


@pytest.fixture(scope="session")
def harbour(videos: Path) -> Path:
    """A video of twelve seconds in three shots, with B-frames, sound, and a keyframe every 2 s."""
    from corpus.films import Film, Shot
    from corpus.videos import Style, write_video

    film = Film([Shot(100, "pan"), Shot(100, "object"), Shot(100, "frozen")])
    return write_video(videos / "harbour.mp4", film, Style(audio="aac"))


@pytest.fixture(scope="session")
def refreshed(videos: Path) -> Path:
    """A video of six seconds with intra refresh: no keyframe after the first."""
    from corpus.films import Film, Shot
    from corpus.videos import Style, write_video

    film = Film([Shot(75, "pan"), Shot(75, "object")])
    style = Style(options={"x264-params": "intra-refresh=1"})
    return write_video(videos / "refreshed.mp4", film, style)


@pytest.fixture(scope="session")
def lossy(videos: Path) -> Path:
    """A transport stream of six seconds that lost packets at about 2.6 s."""
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
    """Return the folder of a tiny model by its name."""
    import tiny_video_models

    root = tmp_path_factory.mktemp("video_models")

    @cache
    def saved(name: str) -> str:
        tiny_video_models.RECIPES[name](root / name)
        return str(root / name)

    return saved


@pytest.fixture
def one_thread() -> None:
    """Threads do not speed up tiny matrices, and are slow on a busy machine."""
    import torch

    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def harbour_clips(harbour: Path) -> list[Clip]:
    """Clips of two seconds from each of the three shots."""
    source = VideoSource(str(harbour))
    facts = probe(source)
    return [Clip(ClipSpan(source, facts, start, start + 2.0)) for start in (1.0, 5.0, 9.0)]


@pytest.fixture
def problems() -> Callable[[AnyStage], list[str]]:
    """Return the option and the value that each problem of a stage names."""
    return lambda stage: [problem.partition(", but ")[0] for problem in stage.check()]
