"""Models of pictures are lent by curator-image, and by one module alone."""

import ast
from pathlib import Path

import curator_video
import pytest
from curator_core.testing import modules_loaded_by
from curator_video.embedding.frames import ClipEmbedder
from curator_video.filters.models import AestheticFilter, NSFWFilter, TextAreaFilter

SOURCE = Path(str(curator_video.__file__)).parent


def test_one_module_knows_of_the_other_package() -> None:
    knows = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("curator_image")
    }
    assert knows == {"models/lending.py"}
    stages = "curator_video.filters.models, curator_video.embedding.frames"
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
def test_where_it_is_not_installed_the_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, stage: ClipEmbedder, extra: str
) -> None:
    monkeypatch.setattr("curator_video.models.lending.find_spec", lambda name: None)
    assert list(stage.check()) == [
        "models of pictures are those of curator-image, which is not installed: "
        f"pip install 'curator-video[{extra}]'"
    ]
