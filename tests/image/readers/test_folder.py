"""Image files in a folder become samples with their sidecars."""

from pathlib import Path

import pytest
from curator_core import FileGroup, LocalExecutor, Pipeline, Rejected
from curator_core.model.stages import AnyStage
from curator_image import (
    ImageBatch,
    ImageFolderReader,
)
from tars import JPEG


def run(*stages: AnyStage) -> list[ImageBatch]:
    return list(Pipeline("p", stages=list(stages)).run(LocalExecutor(workers=0)))


def rows(*stages: AnyStage) -> list[dict[str, object]]:
    return [row for batch in run(*stages) for row in batch.to_pylist()]


def test_files_with_the_same_name_are_a_sample(tmp_path: Path) -> None:
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


def test_large_files_are_quarantined(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(JPEG * 100)
    (tmp_path / "b.jpg").write_bytes(JPEG)
    stage = ImageFolderReader(str(tmp_path), max_file_bytes="1kB").decompose()[1]
    found = list(stage.process(FileGroup.of([str(tmp_path / "a.jpg"), str(tmp_path / "b.jpg")])))
    [one] = [one for one in found if isinstance(one, Rejected)]
    assert one == Rejected("it has more than 1,000 bytes (max_file_bytes)", str(tmp_path / "a.jpg"))
    assert [one.keys for one in found if isinstance(one, ImageBatch)] == [["b"]]


def test_files_of_other_kinds_are_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for name in ("a.jpg", "a.txt", "sub/b.JPG", "c.MOV", "sub/d.mov", "Makefile", ".hidden"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(JPEG)
    stages = [ImageFolderReader(str(tmp_path))]
    result = Pipeline("p", stages=stages).run(LocalExecutor(workers=0))
    assert result.stages["image_folder_reader_files"].reasons == {
        "not an image file (.mov)": 2,
        "not an image file (no extension)": 1,
    }
    [line] = [one.getMessage() for one in caplog.records if ".mov" in one.getMessage()]
    assert line.startswith("3 files of other types")
