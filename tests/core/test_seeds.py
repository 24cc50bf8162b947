"""Snippets from NeMo Curator's documentation run here: only the imports differ."""

import json
from pathlib import Path

import pytest
from curator_core import (
    DocumentBatch,
    JsonlReader,
    JsonlWriter,
    ParquetReader,
    Pipeline,
    ProcessingStage,
    Resources,
    processing_stage,
)


@pytest.fixture
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "input").mkdir()
    records = [json.dumps({"id": number, "text": f"page {number}"}) for number in range(20)]
    (tmp_path / "input" / "pages.jsonl").write_text("\n".join(records) + "\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


class TokenizerStage(ProcessingStage[DocumentBatch, DocumentBatch]):
    name: str = "TokenizerStage"
    resources: Resources = Resources(cpus=1.0)  # CPU-only: no GPU needed

    def __init__(self) -> None:
        super().__init__()

    def process(self, task: DocumentBatch) -> DocumentBatch:
        return task


class ModelStage(ProcessingStage[DocumentBatch, DocumentBatch]):
    name: str = "ModelStage"

    def __init__(self, model_path: str) -> None:
        super().__init__()
        self.model_path = model_path

    def process(self, task: DocumentBatch) -> DocumentBatch:
        return task


@processing_stage(name="custom_filter", resources=Resources(cpus=1))
def custom_filter_stage(task: DocumentBatch) -> DocumentBatch:
    return task.with_data(task.data.slice(0, 5))


def test_a_pipeline_from_reader_to_writer(in_folder: Path) -> None:
    pipeline = Pipeline(name="my_pipeline", description="Process text documents")
    pipeline.add_stage(JsonlReader(file_paths="input/"))
    pipeline.add_stage(TokenizerStage())
    pipeline.add_stage(custom_filter_stage)
    pipeline.add_stage(JsonlWriter(path="output/"))
    result = pipeline.run()
    [written] = (in_folder / "output").glob("*.jsonl")
    assert len(written.read_text().splitlines()) == 5
    assert result.stages["custom_filter"].items_dropped == 15


def test_partitions_are_chosen_at_the_reader() -> None:
    assert JsonlReader(file_paths="jsonl_input/", files_per_partition=50).files_per_partition == 50
    assert ParquetReader(file_paths="parquet_input/", blocksize="1GB").blocksize == "1GB"


def test_resources_as_the_pages_show_them() -> None:
    cpu_only = Resources(cpus=2.0)
    single_gpu = Resources(cpus=4.0, gpu_memory_gb=8.0)
    multi_gpu = Resources(cpus=8.0, gpus=2.0)
    assert not cpu_only.needs_gpu
    assert single_gpu.needs_gpu
    assert multi_gpu.gpus == 2.0


@pytest.mark.parametrize(
    "resources", [Resources(gpus=1), Resources(gpus=0.25), Resources(gpu_memory_gb=10)]
)
def test_with_gives_a_model_stage_its_share_of_a_gpu(resources: Resources) -> None:
    model_stage = ModelStage(model_path="path/to/model").with_(resources=resources)
    assert model_stage.resources == resources
    assert ModelStage.resources == Resources(cpus=1.0)


def test_with_changes_the_batch_size() -> None:
    assert TokenizerStage().with_(batch_size=128).batch_size == 128
