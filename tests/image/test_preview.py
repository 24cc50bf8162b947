"""A preview shows the sizes of images instead of their bytes."""

import io
from pathlib import Path

import pytest
from corpus.drawing import Dice
from corpus.pictures import blank, drawn
from curator_cli.app import call

RECIPE = """\
name: look
input: {{stage: image.folder_reader, file_paths: {folder}}}
steps:
  - image.uniformity_filter
  - image.perceptual_hash
output: {{stage: image.folder_writer, path: {folder}/out}}
"""


def test_formats_are_detected_by_signature(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    for name, picture in (("a", drawn(Dice("a"), 90, 60)), ("b", blank(Dice("b"), 90, 60))):
        sink = io.BytesIO()
        picture.save(sink, "PNG")
        (tmp_path / f"{name}.png").write_bytes(sink.getvalue())
    recipe = tmp_path / "look.yaml"
    recipe.write_text(RECIPE.format(folder=tmp_path))
    assert call(["preview", str(recipe)]) == 0
    message = capsys.readouterr().out
    size = (tmp_path / "b.png").stat().st_size
    assert f"key: 'b', image: <{size} bytes>" in message
    assert "\\x" not in message
