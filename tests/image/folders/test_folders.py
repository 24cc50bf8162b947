from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from curator_core import FileGroup, InputError, LocalExecutor, Pipeline, PipelineError, Rejected
from curator_core.stages import AnyStage
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


def test_keys_that_lead_elsewhere_are_not_written(tmp_path: Path) -> None:
    batch = ImageBatch.from_pylist([{"key": "../a", "image": JPEG, "extension": "jpg"}])
    with pytest.raises(InputError, match=r"key '../a' would lead out of the folder"):
        ImageFolderWriter(str(tmp_path / "out")).process(batch)
    assert not list(tmp_path.rglob("*.jpg"))


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
