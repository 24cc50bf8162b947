"""The same result from the streaming executor."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from curator_core import LocalExecutor
from curator_dedup import ExactDeduplicationWorkflow

pytest.importorskip("ray")
pytest.importorskip("curator_streaming")


@pytest.fixture(scope="module")
def private_ray() -> Iterator[None]:
    from curator_ray.connecting import connected
    from curator_ray.starting import PrivateCluster

    with connected(private=PrivateCluster(cpus=2, object_store_gb=0.3)):
        yield


@pytest.mark.usefixtures("private_ray")
def test_streaming_keeps_the_same_documents(tmp_path: Path) -> None:
    from curator_streaming.executor import StreamingExecutor

    raw = tmp_path / "raw"
    raw.mkdir()
    for place in range(5):
        texts = (f"text {(number * (place + 2)) % 37}" for number in range(80))
        lines = (json.dumps({"text": text, "file": place}) + "\n" for text in texts)
        (raw / f"{place}.jsonl").write_text("".join(lines))
    results = []
    for name, executor in (("here", LocalExecutor(workers=0)), ("there", StreamingExecutor())):
        out = tmp_path / name
        workflow = ExactDeduplicationWorkflow(
            str(raw), str(out), input_blocksize=2000, partitions=3
        )
        told = workflow.run(executor).metadata
        results.append((told, sorted(path.read_text() for path in out.glob("part-*"))))
    assert results[0] == results[1]
    assert results[0][0]["kept"] == 37
