"""Image models come from curator-image, which only one module imports."""

import ast
from pathlib import Path

import curator_video
import pytest
from curator_core.testing import modules_loaded_by
from curator_video.embeddings.embedders import ClipEmbedder
from curator_video.filters.models import AestheticFilter, NSFWFilter, TextAreaFilter

SOURCE = Path(str(curator_video.__file__)).parent


def test_only_one_module_imports_curator_image() -> None:
    knows = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("curator_image")
    }
    assert knows == {"frame_models.py"}
    stages = "curator_video.filters.models, curator_video.embeddings.embedders"
    assert "curator_image" not in modules_loaded_by(f"import {stages}")


@pytest.mark.parametrize(
    ("stage", "extra"),
    [
        (ClipEmbedder(), "models"),
        (ClipEmbedder(model="openai/clip-vit-large-patch14"), "clip"),
        (AestheticFilter(), "clip"),
        (NSFWFilter(), "nsfw"),
        (NSFWFilter(head_weights="owner/head"), "clip"),
        (TextAreaFilter(), "ocr"),
    ],
)
def test_a_missing_package_is_reported_with_its_extra(
    monkeypatch: pytest.MonkeyPatch, stage: ClipEmbedder, extra: str
) -> None:
    monkeypatch.setattr("curator_video.frame_models.find_spec", lambda name: None)
    assert list(stage.check()) == [
        "image models need curator-image, which is not installed: "
        f"pip install 'curator-video[{extra}]'"
    ]
