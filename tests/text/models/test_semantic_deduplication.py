"""Embed texts and remove near-duplicates in meaning, in one call."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from curator_cli.app import call
from curator_core import LocalExecutor, ParquetReader, ParquetWriter, Pipeline, PipelineError
from curator_core.plugins.registry import plugins
from curator_dedup import SemanticDeduplicationWorkflow
from curator_text import TextEmbedder

Tiny = Callable[[str], str]
HERE = LocalExecutor(workers=0)
TEXTS = [
    "river mountain wind",
    "buy now",
    "river mountain wind",
    "casino slow the",
    None,
    "buy now",
]
"""The model has so few words that these are what it tells apart."""


def records(first: int = 0) -> list[dict[str, Any]]:
    return [{"key": f"k{first + n}", "text": text} for n, text in enumerate(TEXTS)]


@pytest.fixture(autouse=True)
def raw(tmp_path: Path) -> Path:
    folder = tmp_path / "raw"
    folder.mkdir()
    lines = [json.dumps(record) for record in records()]
    (folder / "a.jsonl").write_text("\n".join([*lines, "{broken"]) + "\n")
    pq.write_table(pa.Table.from_pylist(records(10)), folder / "b.parquet")
    return folder


def kept(folder: Path) -> list[str]:
    lines = (line for path in folder.glob("part-*.jsonl") for line in path.read_text().splitlines())
    found = [json.loads(line) for line in lines]
    for path in folder.glob("part-*.parquet"):
        found += pq.read_table(path).to_pylist()
    assert all(set(record) == {"key", "text"} for record in found)
    return sorted(record["key"] for record in found)


def semantic(raw: Path, out: Path, **options: Any) -> SemanticDeduplicationWorkflow:
    return SemanticDeduplicationWorkflow(str(raw), str(out), n_clusters=1, **options)


def test_texts_are_embedded_and_compared(tmp_path: Path, raw: Path, tiny: Tiny) -> None:
    workflow = semantic(raw, tmp_path / "out", embedding_model=tiny("sentences"), id_field="key")
    result = workflow.run(HERE)
    assert list(result.runs) == ["embed", "sample", "train", "assign", "compare", "remove"]
    metadata = result.metadata
    assert (metadata["documents"], metadata["empty"], metadata["no_records"]) == (12, 2, 1)
    assert (metadata["groups"], metadata["duplicates"], metadata["kept"]) == (3, 7, 5)
    left = kept(tmp_path / "out")
    assert len(left) == 5
    assert {"k4", "k14"} < set(left)  # without a text
    assert (
        semantic(raw, tmp_path / "out", embedding_model=tiny("sentences"), id_field="key")
        .run(HERE)
        .did_nothing
    )
    decided = [pq.read_table(path).to_pylist()
               for path in Path(workflow.work_dir, "decisions").glob("*.parquet")]  # fmt: skip
    assert {row["id"] for rows in decided for row in rows if row["is_duplicate"]} <= {
        f"k{n}" for n in range(20)
    }


def test_only_new_input_is_embedded(tmp_path: Path, raw: Path, tiny: Tiny) -> None:
    workflow = semantic(raw, tmp_path / "out", embedding_model=tiny("sentences"))
    workflow.run(HERE)
    pq.write_table(pa.Table.from_pylist([{"key": "new", "text": "free money"}]), raw / "c.parquet")
    workflow.run(HERE)
    assert "new" in kept(tmp_path / "out")
    assert len(kept(tmp_path / "out")) == 6


def test_command_line(tmp_path: Path, raw: Path, tiny: Tiny) -> None:
    out = tmp_path / "out"
    command = ["dedup", "semantic", str(raw), str(out), "--embedding-model", tiny("sentences")]
    assert call([*command, "--n-clusters", "1", "--executor", "local", "--workers", "0"]) == 0
    assert len(kept(out)) == 5


def test_embedder_and_workflow_agree_on_the_column(tmp_path: Path, raw: Path, tiny: Tiny) -> None:
    """Neither of the two commands names the column."""
    stages = [
        ParquetReader(str(raw / "b.parquet")),
        TextEmbedder(model=tiny("sentences"), device="cpu"),
        ParquetWriter(str(tmp_path / "embedded")),
    ]
    Pipeline("embed", stages=stages).run(HERE)
    metadata = semantic(tmp_path / "embedded", tmp_path / "out").run(HERE).metadata
    assert (metadata["documents"], metadata["groups"], metadata["kept"]) == (6, 2, 4)


def test_errors_name_a_remedy(tmp_path: Path, raw: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def problems(**options: Any) -> str:
        with pytest.raises(PipelineError) as caught:
            semantic(raw, tmp_path / "out", **options).run(HERE)
        return str(caught.value)

    assert "embedding_model" in problems()
    assert "embedding_model" in problems(text_field="key")
    assert "embedding_field" in problems(embedding_model="x", embedding_field="vector")
    assert "did you mean text" in problems(embedding_model="x", text_field="txt")
    stages = {name: one for name, one in plugins().stages.items() if "embedder" not in name}
    monkeypatch.setattr("curator_dedup.semantic.embedding.plugins", lambda: type("P", (), {
        "stages": stages
    }))  # fmt: skip
    assert "curator-text[models]" in problems(embedding_model="x")
