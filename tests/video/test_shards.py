"""Videos in tar shards are read in place, with their sidecars."""

import io
import json
import tarfile
from pathlib import Path
from typing import Any

import fsspec
import pytest
from curator_core import FileGroup, LocalExecutor, Pipeline
from curator_core.errors import CuratorError
from curator_core.testing import run_stage, run_stages
from curator_video.cutting.cutter import ClipCutter
from curator_video.fixed_stride import FixedStrideSplitter
from curator_video.reader import VideoProbe, VideoReader
from curator_video.source import FileRange
from curator_video.tasks import Clip, ClipSpan, Video
from curator_video.writers.clip_writer import ClipWriter
from hypothesis import given
from hypothesis import strategies as st


def shard(path: Path, members: list[tuple[str, bytes]]) -> Path:
    with tarfile.open(path, "w") as tar:
        for name, content in members:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return path


def read(path: Path) -> tuple[list[Video], list[str]]:
    done = run_stages([VideoProbe()], [FileGroup.of([str(path)])], on_error="quarantine")
    return done.outputs, [record.reason for record in done.report.quarantined]


@pytest.fixture(scope="module")
def members(broken: dict[str, Path]) -> list[tuple[str, bytes]]:
    good = broken["good"].read_bytes()
    return [
        ("a/one.json", json.dumps({"caption": "a harbour"}).encode()),
        ("a/one.mp4", good),
        ("a/one.txt", b"ships"),
        ("a/two.mp4", broken["text"].read_bytes()),
        ("a/two.json", b"{broken"),
        ("a/notes.md", b"no video"),
        ("a/one.mp4", good),
        ("a/three.MKV", broken["wrong ending"].read_bytes()),
    ]


def test_videos_in_shards_are_read_in_place_with_their_sidecars(
    members: list[tuple[str, bytes]], tmp_path: Path
) -> None:
    path = shard(tmp_path / "shard.tar", members)
    videos, reasons = read(path)
    assert [video.path for video in videos] == [
        f"tar://a/one.mp4::{path}",
        f"tar://a/three.MKV::{path}",
    ]
    one = videos[0]
    assert one.metadata["json"] == {"caption": "a harbour"}
    assert (one.metadata["txt"], one.metadata["key"]) == ("ships", "a/one")
    assert one.num_bytes == 0
    assert one.facts
    assert one.facts.frames == 100
    with fsspec.open(one.path, "rb") as file:
        assert file.read() == members[1][1], "the path is one that fsspec opens"
    assert any("tar://a/two.mp4" in reason and "is a web page" in reason for reason in reasons)
    assert any("occurs earlier" in reason for reason in reasons)
    assert len(reasons) == 2


def test_clips_are_cut_out_of_shards(members: list[tuple[str, bytes]], tmp_path: Path) -> None:
    shard(tmp_path / "shard.tar", members[:3])
    out = tmp_path / "out"
    stages: list[Any] = [VideoReader(f"file://{tmp_path}"), FixedStrideSplitter(2)]
    stages += [ClipCutter("copy"), ClipWriter(str(out))]
    Pipeline("cut", stages=stages).run(LocalExecutor(0))
    assert len(list((out / "clips").glob("*.mp4"))) == 2
    page = json.loads(next((out / "metas" / "v0").glob("*-*.json")).read_text())
    assert page["metadata"]["json"] == {"caption": "a harbour"}


def test_shards_in_an_object_store_are_read_in_place(
    members: list[tuple[str, bytes]], tmp_path: Path
) -> None:
    with fsspec.open("memory://shards/shard.tar", "wb") as file:
        file.write(shard(tmp_path / "shard.tar", members[:3]).read_bytes())
    [video] = run_stage(VideoProbe(), FileGroup.of(["memory://shards/shard.tar"]))
    clips = run_stages([FixedStrideSplitter(2), ClipCutter("copy")], [video]).outputs
    assert [clip.data.encoded.frames for clip in clips] == [50, 50]


def test_a_source_in_a_shard_survives_its_payload(
    members: list[tuple[str, bytes]], tmp_path: Path
) -> None:
    path = shard(tmp_path / "shard.tar", members[:3])
    [video] = run_stage(VideoProbe(), FileGroup.of([str(path)]))
    again = Video.from_payload(video.to_payload())
    assert again.data.shard_member == video.data.shard_member
    clip = Clip.from_payload(Clip(ClipSpan(again.data, again.get_facts(), 0, 1)).to_payload())
    assert clip.data.source == video.data


def test_damage_between_members_is_reported(
    members: list[tuple[str, bytes]], tmp_path: Path
) -> None:
    path = shard(tmp_path / "shard.tar", members[:5])
    content = bytearray(path.read_bytes())
    with tarfile.open(path) as tar:
        start = tar.getmember("a/two.mp4").offset
    content[start : start + 300] = b"?" * 300
    path.write_bytes(content)
    videos, [reason] = read(path)
    assert len(videos) == 1
    assert f"no tar header at byte {start}" in reason
    assert "the rest of the shard is lost" in reason


def test_a_truncated_shard_is_reported(members: list[tuple[str, bytes]], tmp_path: Path) -> None:
    path = shard(tmp_path / "shard.tar", members[:2])
    path.write_bytes(path.read_bytes()[: 2000 + len(members[1][1]) // 2])
    videos, reasons = read(path)
    assert not videos
    assert any("unexpected end of data" in reason for reason in reasons)
    assert any("tar://a/one.mp4" in reason for reason in reasons)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("empty.tar", b"", "empty"),
        ("page.tar", b"<html>" * 500, "cannot be read as a tar file"),
        ("none.tar", None, "there is no video in"),
        ("packed.tar.gz", b"\x1f\x8b", "cannot be read in place; unpack it"),
    ],
)
def test_files_that_are_not_shards_of_videos_are_refused(
    tmp_path: Path, name: str, content: bytes | None, reason: str
) -> None:
    path = tmp_path / name
    if content is None:
        shard(path, [("a.txt", b"no video")])
    else:
        path.write_bytes(content)
    with pytest.raises(CuratorError, match=reason):
        run_stage(VideoProbe(), FileGroup.of([str(path)]))


@given(st.binary(max_size=60), st.data())
def test_a_file_range_reads_like_a_file(content: bytes, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(content)))
    size = data.draw(st.integers(0, len(content) - start))
    ours, known = FileRange(io.BytesIO(content), start, size), io.BytesIO(content[start:][:size])
    for _ in range(6):
        offset, whence = data.draw(st.sampled_from([(0, 0), (3, 0), (2, 1), (0, 2), (70, 0)]))
        assert ours.seek(offset, whence) == known.seek(offset, whence)
        count = data.draw(st.integers(-1, 30))
        assert ours.read(count) == known.read(count)
        assert ours.tell() == known.tell()
