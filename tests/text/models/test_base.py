"""Models in pipelines, on devices that are full or missing."""

import json
import logging
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import tiny_models as made
import torch
from curator_core import DocumentBatch, LocalExecutor, Pipeline, WorkerInfo
from curator_core.model.resources import Resources
from curator_core.model.stages import flatten
from curator_text import JsonlReader, JsonlWriter, SequenceClassifier

Tiny = Callable[[str], str]


class SmallDevice(torch.nn.Module):
    """A network on a device with little memory, which fails as CUDA does."""

    def __init__(self, network: torch.nn.Module, room: int) -> None:
        super().__init__()
        self.network = network
        self.room = room
        self.asked: list[int] = []

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> Any:
        self.asked.append(len(ids))
        if ids.numel() > self.room:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
        return self.network(ids, mask)


def process(parts: Sequence[Any], texts: Sequence[str]) -> list[Any]:
    task: Any = DocumentBatch.from_pylist([{"text": text} for text in texts])
    for part in parts:
        [task, *rejected] = part.process(task)
    return [task, *rejected]


def test_out_of_memory_halves_batches_without_changing_answers(
    tiny: Tiny, caplog: pytest.LogCaptureFixture
) -> None:
    stage = SequenceClassifier(model=tiny("labels"), probabilities_field="all", device="cpu",
                               model_inference_batch_size=8)  # fmt: skip
    texts = ["river wind"] * 3 + ["buy now"] * 7 + ["stone"]
    parts = flatten([stage])
    for part in parts:
        part.setup(WorkerInfo())
    [expected] = process(parts, texts)
    model = parts[1]
    small = model._network = SmallDevice(model._network, room=12)
    with caplog.at_level(logging.WARNING, logger="curator_text"):
        [found] = process(parts, texts)

    assert small.asked == [8, 4, 2, 2, 2, 2, 2, 1]
    assert found.data["text"].to_pylist() == texts
    for one, other in zip(found.to_pylist(), expected.to_pylist(), strict=True):
        assert one["all"] == pytest.approx(other["all"], abs=1e-5)
    [warning] = [r.getMessage() for r in caplog.records]
    assert "'sequence_classifier_model': 8 documents of up to 4 tokens did not fit" in warning
    assert "model_inference_batch_size=4" in warning


def test_cpu_batches_are_limited_in_tokens(tiny: Tiny) -> None:
    """A process that uses too much main memory is killed without an error."""
    parts = flatten([SequenceClassifier(model=tiny("labels"), device="cpu")])
    for part in parts:
        part.setup(WorkerInfo())
    network = parts[1]._network = SmallDevice(parts[1]._network, room=4096)
    [found] = process(parts, ["river " * 62] * 100 + ["wind"] * 300)
    assert network.asked == [64, 64, 256, 16]
    assert None not in found.data["label"].to_pylist()


def test_document_too_large_for_the_device_is_quarantined_alone(tiny: Tiny) -> None:
    parts = flatten([SequenceClassifier(model=tiny("labels"), device="cpu")])
    for part in parts:
        part.setup(WorkerInfo())
    parts[1]._network = SmallDevice(parts[1]._network, room=8)
    task, rejected = process(parts, ["river", "casino " * 20, "wind"])

    assert task.data["text"].to_pylist() == ["river", "wind"]
    assert None not in task.data["label"].to_pylist()
    assert "does not fit on the device (22 tokens); lower max_chars or " in rejected.reason
    assert (rejected.row, rejected.damaged) == (1, False)


def raw(folder: Path, count: int = 30) -> list[str]:
    texts = [" ".join(made.WORDS[n % 7 : n % 7 + 1 + n % 5]) for n in range(count)]
    folder.mkdir()
    for part in range(3):
        lines = [json.dumps({"id": n, "text": texts[n]}) for n in range(part, count, 3)]
        (folder / f"{part}.jsonl").write_text("\n".join(lines) + "\n")
    return texts


def classify(executor: Any, tmp_path: Path, folder: str, **options: Any) -> dict[int, str]:
    stages = [
        JsonlReader(str(tmp_path / "raw" / "*.jsonl")),
        SequenceClassifier(model=folder, **options),
        JsonlWriter(str(tmp_path / "out")),
    ]
    Pipeline("classify", stages=stages).run(executor)
    rows = [json.loads(line) for file in sorted((tmp_path / "out").glob("*.jsonl"))
            for line in file.read_text().splitlines()]  # fmt: skip
    return {row["id"]: row["label"] for row in rows}


@pytest.mark.parametrize(("cpus", "threads"), [(0.5, 1), (2.0, 2)])
def test_model_uses_only_the_cores_of_its_worker(tiny: Tiny, cpus: float, threads: int) -> None:
    before = torch.get_num_threads()
    model = flatten([SequenceClassifier(model=tiny("labels"), device="cpu")])[1]
    try:
        model.setup(WorkerInfo(granted=Resources(cpus=cpus)))
        assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("workers", [0, 2])
def test_local_run(tiny: Tiny, tmp_path: Path, workers: int) -> None:
    texts = raw(tmp_path / "raw")
    found = classify(LocalExecutor(workers), tmp_path, tiny("labels"), device="cpu")
    assert sorted(found) == list(range(len(texts)))
    by_text: dict[str, set[str]] = {}
    for number, label in found.items():
        by_text.setdefault(texts[number], set()).add(label)
    assert all(len(labels) == 1 for labels in by_text.values())
    assert len(set(found.values())) > 1


def test_worker_whose_gpu_torch_cannot_use_runs_on_the_cpu(
    tiny: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    parts = flatten([SequenceClassifier(model=tiny("labels"), device="cuda")])
    for part in parts:
        part.setup(WorkerInfo(gpu_ids=("0",)))
    [found] = process(parts, ["river", "wind"])
    assert None not in found.data["label"].to_pylist()


@pytest.mark.soak
@pytest.mark.skipif(find_spec("curator_streaming") is None, reason="needs the streaming executor")
def test_cluster_whose_gpu_torch_cannot_use_runs_on_the_cpu(tiny: Tiny, tmp_path: Path) -> None:
    from curator_ray.cluster.connection import connected
    from curator_ray.cluster.private import PrivateCluster
    from curator_streaming.executor import StreamingExecutor

    texts = raw(tmp_path / "raw")
    with connected(private=PrivateCluster(cpus=2, gpus=1, object_store_gb=0.2)):
        found = classify(StreamingExecutor(), tmp_path, tiny("labels"), device="cuda")
    assert sorted(found) == list(range(len(texts)))


def test_half_precision_on_a_cpu(tiny: Tiny) -> None:
    found = []
    for autocast in (True, "bf16"):
        options: Any = {"autocast": autocast, "device": "cpu", "probabilities_field": "all"}
        parts = flatten([SequenceClassifier(model=tiny("labels"), **options)])
        for part in parts:
            part.setup(WorkerInfo())
        found.append(process(parts, ["the river reads"])[0].to_pylist()[0]["all"])
    assert found[0] != found[1]
    assert found[1] == pytest.approx(found[0], abs=0.1)
