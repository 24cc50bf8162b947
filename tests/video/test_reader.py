"""Videos are listed and probed; bad files are quarantined alone."""

from io import BytesIO
from pathlib import Path

import fsspec
import pytest
from curator_core import FileGroup, LocalExecutor, Pipeline, PipelineError
from curator_core.errors import InputError
from curator_core.testing import check_stage, run_stage
from curator_video.probing import probe
from curator_video.reader import VideoProbe, VideoReader
from curator_video.source import RemoteFile, VideoSource


def test_bad_files_are_quarantined_with_the_reason(broken: dict[str, Path], tmp_path: Path) -> None:
    folder = str(broken["good"].parent)
    pipeline = Pipeline("read", stages=[VideoReader(folder)], max_failures=20)
    result = pipeline.run(LocalExecutor(workers=0), run_dir=str(tmp_path / "run"))
    read = {Path(video.path).name for video in result}
    unreadable = {"cut short", "empty", "text", "playlist", "only sound", "no picture"}
    assert read == {path.name for kind, path in broken.items() if kind not in unreadable}
    for kind in unreadable:
        [reason] = [one.reason for one in result.quarantined if str(broken[kind]) in one.reason]
        assert "video" in reason or "empty" in reason
    assert len(result.quarantined) == len(unreadable)


def test_videos_in_an_object_store_are_not_copied(broken: dict[str, Path]) -> None:
    with fsspec.open("memory://films/one.mp4", "wb") as file:
        file.write(broken["good"].read_bytes())
    [video] = run_stage(VideoProbe(), FileGroup.of(["memory://films/one.mp4"]))
    assert video.facts.frames == 100
    assert video.num_bytes == 0, "the bytes stay in the store"


class FromTheBeginning(BytesIO):
    """A file as fsspec opens it from a server without range requests."""

    def seek(self, offset: int, whence: int = 0) -> int:
        raise ValueError("Cannot seek streaming HTTP file")


def test_a_server_without_range_requests_is_reported() -> None:
    file = RemoteFile(FromTheBeginning(b"film"), "http://there/film.mp4")
    assert file.read(2) == b"fi"
    with pytest.raises(InputError, match=r"^http://there/film\.mp4 .* download it first"):
        file.seek(0)


class Falling(BytesIO):
    def read(self, size: int | None = -1) -> bytes:
        raise ConnectionResetError(104, "reset")


def test_a_lost_connection_is_reported() -> None:
    with pytest.raises(InputError, match=r"http://there/film\.mp4: its server does not answer"):
        RemoteFile(Falling(), "http://there/film.mp4").read(5)


def test_a_web_page_is_refused_as_such(broken: dict[str, Path]) -> None:
    with pytest.raises(InputError, match=r"text\.mp4 is a web page \(HTML\).*URL of the video"):
        probe(VideoSource(str(broken["text"])))


def test_web_server_folders_become_recursive_patterns() -> None:
    paths = ["http://there/films/", "https://there/film.mp4", "s3://there/films/", "here/"]
    listing, _ = VideoReader(paths).decompose()
    assert listing.file_paths == ["http://there/films/**", *paths[1:]]


def test_one_bad_file_does_not_fail_the_others(broken: dict[str, Path]) -> None:
    group = FileGroup.of([str(broken["empty"]), str(broken["good"])])
    [video] = run_stage(VideoProbe(), group, on_error="quarantine")
    assert video.path == str(broken["good"])


def test_stage_contract(broken: dict[str, Path]) -> None:
    check_stage(VideoProbe(), FileGroup.of([str(broken["good"]), str(broken["turned"])]))


def test_a_folder_without_videos_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no video")
    with pytest.raises(PipelineError, match="no file"):
        Pipeline("read", stages=[VideoReader(str(tmp_path))]).run(LocalExecutor(workers=0))
