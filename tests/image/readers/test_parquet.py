"""Parquet rows become pictures, from bytes and from the structs of `datasets`."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from curator_core import FileGroup, InputError, LocalExecutor, Pipeline, PipelineError, Rejected
from curator_core.model.stages import AnyStage
from curator_image import (
    ImageBatch,
    ImageParquetReader,
    ParquetWriter,
    WebDatasetReader,
)
from tars import JPEG, plain, write


def run(*stages: AnyStage) -> list[ImageBatch]:
    return list(Pipeline("p", stages=list(stages)).run(LocalExecutor(workers=0)))


def rows(*stages: AnyStage) -> list[dict[str, object]]:
    return [row for batch in run(*stages) for row in batch.to_pylist()]


def test_parquet_round_trip(tmp_path: Path) -> None:
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
    assert one.reason == "the image is missing or empty"


def test_a_wrong_column_is_named(tmp_path: Path) -> None:
    pq.write_table(pa.table({"image": ["http://x/a.jpg"]}), tmp_path / "a.parquet")
    with pytest.raises(PipelineError, match=r"image_field is 'imag', but there is no such column"):
        Pipeline("p", stages=[ImageParquetReader(str(tmp_path), image_field="imag")]).build()
    stage = ImageParquetReader(str(tmp_path)).decompose()[1]
    with pytest.raises(InputError, match="is string, not bytes: set image_field"):
        list(stage.process(FileGroup.of([str(tmp_path / "a.parquet")])))
