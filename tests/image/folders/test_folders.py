from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from curator_core import FileGroup, InputError, LocalExecutor, Pipeline, PipelineError, Rejected
from curator_core.model.stages import AnyStage
from curator_image import (
    ImageBatch,
    ImageFolderReader,
    ImageFolderWriter,
    ImageParquetReader,
    ParquetWriter,
    WebDatasetReader,
)
from tars import JPEG, member, plain, write


def run(*stages: AnyStage) -> list[ImageBatch]:
    return list(Pipeline("p", stages=list(stages)).run(LocalExecutor(workers=1)))


def rows(*stages: AnyStage) -> list[dict[str, object]]:
    return [row for batch in run(*stages) for row in batch.to_pylist()]


def test_files_of_one_name_are_a_sample(tmp_path: Path) -> None:
    top = tmp_path / "in"
    (top / "sub").mkdir(parents=True)
    (top / "a.jpg").write_bytes(JPEG)
    (top / "a.txt").write_text("words")
    (top / "sub" / "b.c.JPEG").write_bytes(JPEG)
    (top / "sub" / "notes.md").write_text("no picture")
    (top / "empty.png").write_bytes(b"")
    for named in (top, f"{top}/", f"{top}/**/*.[jJ]*"):
        found = {str(row["key"]): row for row in rows(ImageFolderReader(str(named)))}
        assert set(found) == {"a", "sub/b.c"}
        assert (found["a"]["txt"], found["sub/b.c"]["txt"]) == ("words", None)
        assert found["sub/b.c"]["extension"] == "JPEG"
        assert found["a"]["source"] == str(top / "a.jpg")


def test_large_files_are_set_aside(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(JPEG * 100)
    (tmp_path / "b.jpg").write_bytes(JPEG)
    stage = ImageFolderReader(str(tmp_path), max_file_bytes="1kB").decompose()[1]
    found = list(stage.process(FileGroup.of([str(tmp_path / "a.jpg"), str(tmp_path / "b.jpg")])))
    [one] = [one for one in found if isinstance(one, Rejected)]
    assert one == Rejected("it has more than 1,000 bytes (max_file_bytes)", str(tmp_path / "a.jpg"))
    assert [one.keys for one in found if isinstance(one, ImageBatch)] == [["b"]]


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


def test_each_key_that_cannot_be_a_path_is_set_aside_alone(tmp_path: Path) -> None:
    good = [f"sub/{n}" for n in range(9)]  # most of them: else the run has failed
    keys = ["good", *BAD_KEYS, *good]
    batch = ImageBatch.from_pylist([{"key": k, "image": JPEG, "extension": "jpg"} for k in keys])
    pipeline = Pipeline("p", stages=[ImageFolderWriter(str(tmp_path / "out"))])
    result = pipeline.run(LocalExecutor(workers=1), tasks=[batch])
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


def test_files_of_other_kinds_are_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for name in ("a.jpg", "a.txt", "sub/b.JPG", "c.MOV", "sub/d.mov", "Makefile", ".hidden"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(JPEG)
    stages = [ImageFolderReader(str(tmp_path))]
    result = Pipeline("p", stages=stages).run(LocalExecutor(workers=1))
    assert result.stages["image_folder_reader_files"].reasons == {
        "not an image file (.mov)": 2,
        "not an image file (no ending)": 1,
    }
    [line] = [one.getMessage() for one in caplog.records if ".mov" in one.getMessage()]
    assert line.startswith("3 files of other kinds")


def test_parquet_gives_back_what_was_written(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tar", plain(5))
    before = rows(WebDatasetReader(str(path)))
    run(WebDatasetReader(str(path)), ParquetWriter(str(tmp_path / "out")))
    [batch] = run(ImageParquetReader(str(tmp_path / "out")))
    assert isinstance(batch, ImageBatch)
    assert batch.to_pylist() == before
    assert batch.sidecars == {"txt": "txt"}


def test_images_as_datasets_writes_them(tmp_path: Path) -> None:
    images = [{"bytes": JPEG, "path": "x/cat.jpeg"}, {"bytes": None, "path": "y.jpg"}]
    images.append({"bytes": b"\x89PNG\r\n\x1a\n", "path": None})
    pq.write_table(pa.table({"img": images, "label": [1, 2, 3]}), tmp_path / "a.parquet")
    reader = ImageParquetReader(str(tmp_path / "a.parquet"), image_field="img")
    found = list(reader.decompose()[1].process(FileGroup.of([str(tmp_path / "a.parquet")])))
    [batch] = [one for one in found if isinstance(one, ImageBatch)]
    assert batch.to_pylist() == [
        {"label": 1, "key": "a-0", "image": JPEG, "extension": "jpeg",
         "source": f"{tmp_path}/a.parquet row 0"},
        {"label": 3, "key": "a-2", "image": b"\x89PNG\r\n\x1a\n", "extension": "png",
         "source": f"{tmp_path}/a.parquet row 2"},
    ]  # fmt: skip
    [one] = [one for one in found if isinstance(one, Rejected)]
    assert one.reason == "the image is missing, or has no bytes at all"


def test_a_wrong_column_is_named(tmp_path: Path) -> None:
    pq.write_table(pa.table({"image": ["http://x/a.jpg"]}), tmp_path / "a.parquet")
    with pytest.raises(PipelineError, match=r"image_field is 'imag', which no column is"):
        Pipeline("p", stages=[ImageParquetReader(str(tmp_path), image_field="imag")]).build()
    stage = ImageParquetReader(str(tmp_path)).decompose()[1]
    with pytest.raises(InputError, match="is string, and holds no bytes; name another image_field"):
        list(stage.process(FileGroup.of([str(tmp_path / "a.parquet")])))
