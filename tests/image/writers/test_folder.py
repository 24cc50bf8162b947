"""Images are written to folders byte for byte, and unusable keys are quarantined."""

from pathlib import Path

from curator_core import FileGroup, LocalExecutor, Pipeline, Rejected
from curator_core.model.stages import AnyStage
from curator_image import (
    ImageBatch,
    ImageFolderWriter,
    WebDatasetReader,
)
from tars import JPEG, member, plain, write


def run(*stages: AnyStage) -> list[ImageBatch]:
    return list(Pipeline("p", stages=list(stages)).run(LocalExecutor(workers=0)))


def rows(*stages: AnyStage) -> list[dict[str, object]]:
    return [row for batch in run(*stages) for row in batch.to_pylist()]


def test_a_folder_holds_the_same_bytes_as_the_shard(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tar", [*plain(5), member("x.seg.png", b"mask"), member("x.jpg")])
    run(WebDatasetReader(str(path)), ImageFolderWriter(str(tmp_path / "out")))
    [folder] = (tmp_path / "out").glob("part-*")
    files = {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*.*")}
    names = {name for name in files if not name.endswith("_manifest.json")}
    assert names == {f"a/000{n}.{e}" for n in range(5) for e in ("jpg", "txt")} | {
        "x.jpg",
        "x.seg.png",
    }
    assert files["x.seg.png"] == b"mask"


BAD_KEYS = ["k" * 400, "a\0b", "a//b", "a/./b", "../a", "/a", "a/", "", "d/" * 1950 + "a"]


def test_keys_that_cannot_be_paths_are_quarantined_alone(tmp_path: Path) -> None:
    good = [f"sub/{n}" for n in range(9)]  # most of them: else the run has failed
    keys = ["good", *BAD_KEYS, *good]
    batch = ImageBatch.from_pylist([{"key": k, "image": JPEG, "extension": "jpg"} for k in keys])
    pipeline = Pipeline("p", stages=[ImageFolderWriter(str(tmp_path / "out"))])
    result = pipeline.run(LocalExecutor(workers=0), tasks=[batch])
    [folder] = (tmp_path / "out").glob("part-*")
    written = {str(path.relative_to(folder)) for path in folder.rglob("*.jpg")}
    assert written == {"good.jpg", *(f"{key}.jpg" for key in good)}
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert [record.where for record in result.quarantined] == [
        f"key {key[:80]!r}" for key in BAD_KEYS
    ]
    assert all(record.payload == JPEG and not record.whole_task for record in result.quarantined)


def test_no_row_overwrites_the_file_of_another(tmp_path: Path) -> None:
    rows = [
        {"key": "a", "image": JPEG, "extension": "jpg", "beside": b"1"},
        {"key": "a.b", "image": JPEG, "extension": "png", "beside": None},
        {"key": "a.jpg/c", "image": JPEG, "extension": "jpg", "beside": None},
        {"key": "a.c", "image": JPEG, "extension": "png", "beside": None},
    ]
    batch = ImageBatch.from_pylist(rows).with_sidecars({"beside": "b.png"})
    written, *rejected = ImageFolderWriter(str(tmp_path)).process(batch)
    assert isinstance(written, FileGroup)
    assert [Path(path).name for path in written.paths] == ["a.jpg", "a.b.png", "a.c.png"]
    assert [one.where for one in rejected if isinstance(one, Rejected)] == [
        "key 'a.b'",
        "key 'a.jpg/c'",
    ]
