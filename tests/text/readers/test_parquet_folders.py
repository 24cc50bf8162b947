"""Folders in the layout of Hugging Face: one per configuration, file names by split."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from curator_core import Empty
from curator_core.testing import run_stages
from curator_text import ParquetReader


def texts(paths: str | list[str], **options: object) -> list[str]:
    run = run_stages([ParquetReader(paths, **options)], [Empty()])  # type: ignore[arg-type]
    return sorted(text for task in run.outputs for text in task.data["text"].to_pylist())


def folder(root: Path) -> Path:
    for config in ("en", "de"):
        for split, count in (("train", 2), ("test", 1)):
            for number in range(count):
                name = f"{split}-{number:05}-of-{count:05}.parquet"
                (root / config).mkdir(exist_ok=True)
                table = pa.table({"text": [f"{config} {split} {number}"], "label": [number]})
                pq.write_table(table, root / config / name)
    (root / "README.md").write_text("---\nlicense: mit\n---\n")
    return root


def test_whole_dataset_configuration_or_split_can_be_read(tmp_path: Path) -> None:
    root = folder(tmp_path)
    assert len(texts(str(root))) == 6
    assert texts(str(root / "de")) == ["de test 0", "de train 0", "de train 1"]
    assert texts(str(root), include="train-*") == [
        "de train 0",
        "de train 1",
        "en train 0",
        "en train 1",
    ]
    assert texts(f"{root}/en/test-*.parquet", fields=["text"]) == ["en test 0"]
