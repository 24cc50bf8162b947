"""Executors on Ray give the same result as the local one."""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from curator_core import JsonlReader, JsonlWriter, LocalExecutor, Pipeline
from curator_dedup import (
    BloomDeduplication,
    ExactDeduplicationWorkflow,
    FuzzyDeduplicationWorkflow,
    SemanticDeduplicationWorkflow,
    SubstringDeduplicationWorkflow,
)

pytest.importorskip("ray")
pytest.importorskip("curator_streaming")


@pytest.fixture(scope="module")
def private_ray() -> Iterator[None]:
    from curator_ray.cluster.connection import connected
    from curator_ray.cluster.private import PrivateCluster

    with connected(private=PrivateCluster(cpus=2, object_store_gb=0.3)):
        yield


@pytest.mark.usefixtures("private_ray")
@pytest.mark.parametrize(
    ("kind", "kept", "executor"),
    [
        (FuzzyDeduplicationWorkflow, 1, "streaming"),  # digits are normalized
        pytest.param(ExactDeduplicationWorkflow, 37, "actor_pool", marks=pytest.mark.soak),
        pytest.param(ExactDeduplicationWorkflow, 37, "ray_data", marks=pytest.mark.soak),
    ],
)
def test_executors_keep_the_same_documents(
    tmp_path: Path,
    kind: type[ExactDeduplicationWorkflow] | type[FuzzyDeduplicationWorkflow],
    kept: int,
    executor: str,
) -> None:
    pytest.importorskip(f"curator_{executor}")
    raw = tmp_path / "raw"
    raw.mkdir()
    for place in range(3):
        texts = (f"text {(number * (place + 2)) % 37}" for number in range(60))
        lines = (json.dumps({"text": text, "file": place}) + "\n" for text in texts)
        (raw / f"{place}.jsonl").write_text("".join(lines))
    results = []
    for name, chosen in (("here", LocalExecutor(workers=0)), ("there", executor)):
        out = tmp_path / name
        workflow = kind(str(raw), str(out), input_blocksize=1500, partitions=2)
        counts = workflow.run(chosen).metadata
        results.append((counts, sorted(path.read_text() for path in out.glob("part-*"))))
    assert results[0] == results[1]
    assert results[0][0]["kept"] == kept


def repeating(raw: Path) -> Path:
    """Write texts with common passages, and similar vectors."""
    raw.mkdir()
    for place in range(4):
        lines = []
        for number in range(60):
            same = number % 7
            words = [f"p{same}x{word}" for word in range(12)] + [f"{place}w{number}"] * 3
            angle = 0.4 * same + 0.001 * place
            record = {"text": " ".join(words), "embedding": [math.cos(angle), math.sin(angle)]}
            lines.append(json.dumps(record) + "\n")
        (raw / f"{place}.jsonl").write_text("".join(lines))
    return raw


@pytest.mark.usefixtures("private_ray")
@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(SemanticDeduplicationWorkflow, marks=pytest.mark.soak),
        SubstringDeduplicationWorkflow,
    ],
)
def test_streaming_gives_the_result_of_the_local_executor(tmp_path: Path, kind: Any) -> None:
    from curator_streaming.executor import StreamingExecutor

    raw = repeating(tmp_path / "raw")
    options = {} if kind is SemanticDeduplicationWorkflow else {"min_tokens": 10}
    results = []
    for name, executor in (("here", LocalExecutor(workers=0)), ("there", StreamingExecutor())):
        out = tmp_path / name
        workflow = kind(str(raw), str(out), input_blocksize=8000, partitions=2, **options)
        counts = workflow.run(executor).metadata
        results.append((counts, sorted(path.read_text() for path in out.glob("part-*"))))
    assert results[0] == results[1]
    assert results[0][1] != sorted(path.read_text() for path in raw.iterdir())


@pytest.mark.usefixtures("private_ray")
def test_streaming_runs_the_bloom_filter_on_one_worker(tmp_path: Path) -> None:
    from curator_streaming.executor import StreamingExecutor

    raw = repeating(tmp_path / "raw")
    for path in list(raw.iterdir()):
        (raw / f"again-{path.name}").write_text(path.read_text())
    out = tmp_path / "out"
    stages = [JsonlReader(str(raw)), BloomDeduplication(), JsonlWriter(str(out))]
    Pipeline("once", stages=stages).run(StreamingExecutor())
    lines = [line for path in out.glob("part-*") for line in path.read_text().splitlines()]
    assert len(lines) == len({json.loads(line)["text"] for line in lines}) == 240
