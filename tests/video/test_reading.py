from io import BytesIO
from pathlib import Path

import fsspec
import pytest
from curator_core import FileGroup, LocalExecutor, Pipeline, PipelineError
from curator_core.errors import InputError
from curator_core.testing import check_stage, run_stage
from curator_video.probing import probe
from curator_video.reading import VideoProbe, VideoReader
from curator_video.sources import VideoSource
from curator_video.stretches import Distant


def test_a_folder_with_all_that_goes_wrong(broken: dict[str, Path], tmp_path: Path) -> None:
    folder = str(broken["good"].parent)
    pipeline = Pipeline("read", stages=[VideoReader(folder)], max_failures=20)
    result = pipeline.run(LocalExecutor(), run_dir=str(tmp_path / "run"))
    read = {Path(video.path).name for video in result}
    unreadable = {"cut short", "empty", "text", "playlist", "only sound", "no picture"}
    assert read == {path.name for kind, path in broken.items() if kind not in unreadable}
    for kind in unreadable:
        [told] = [one.reason for one in result.quarantined if str(broken[kind]) in one.reason]
        assert "video" in told or "empty" in told
    assert len(result.quarantined) == len(unreadable)


def test_videos_of_a_store_are_read_where_they_are(broken: dict[str, Path]) -> None:
    with fsspec.open("memory://films/one.mp4", "wb") as file:
        file.write(broken["good"].read_bytes())
    [video] = run_stage(VideoProbe(), FileGroup.of(["memory://films/one.mp4"]))
    assert video.facts.frames == 100
    assert video.num_bytes == 0, "the bytes stay in the store"


class FromTheBeginning(BytesIO):
    """As fsspec has it of a server that answers no range requests."""

    def seek(self, offset: int, whence: int = 0) -> int:
        raise ValueError("Cannot seek streaming HTTP file")


def test_a_server_that_gives_files_from_their_beginning_only_is_told() -> None:
    file = Distant(FromTheBeginning(b"film"), "http://there/film.mp4")
    assert file.read(2) == b"fi"
    with pytest.raises(InputError, match=r"^http://there/film\.mp4 .* download it first"):
        file.seek(0)


class Falling(BytesIO):
    def read(self, size: int | None = -1) -> bytes:
        raise ConnectionResetError(104, "reset")


def test_a_server_that_goes_away_in_the_midst_is_told() -> None:
    with pytest.raises(InputError, match=r"http://there/film\.mp4: its server does not answer"):
        Distant(Falling(), "http://there/film.mp4").read(5)


def test_a_web_page_is_told_from_a_damaged_film(broken: dict[str, Path]) -> None:
    with pytest.raises(InputError, match=r"text\.mp4 is a web page \(HTML\), and no video; fetch"):
        probe(VideoSource(str(broken["text"])))


def test_the_folder_of_a_web_server_is_listed() -> None:
    paths = ["http://there/films/", "https://there/film.mp4", "s3://there/films/", "here/"]
    listing, _ = VideoReader(paths).decompose()
    assert listing.file_paths == ["http://there/films/**", *paths[1:]]


def test_one_bad_file_takes_no_neighbour_along(broken: dict[str, Path]) -> None:
    group = FileGroup.of([str(broken["empty"]), str(broken["good"])])
    [video] = run_stage(VideoProbe(), group, on_error="quarantine")
    assert video.path == str(broken["good"])


def test_it_keeps_what_every_stage_promises(broken: dict[str, Path]) -> None:
    check_stage(VideoProbe(), FileGroup.of([str(broken["good"]), str(broken["turned"])]))


def test_a_folder_without_videos_is_a_mistake(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no video")
    with pytest.raises(PipelineError, match="no file"):
        Pipeline("read", stages=[VideoReader(str(tmp_path))]).run(LocalExecutor())
