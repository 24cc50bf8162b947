"""A preview shows the sizes of images instead of their bytes."""

import io
from pathlib import Path

import pytest
from corpus.drawing import Dice
from corpus.pictures import blank, drawn
from curator_cli.app import call
from curator_core import Pipeline
from curator_image import ImageFolderReader
from PIL import Image

RECIPE = """\
name: look
input: {{stage: image.folder_reader, file_paths: {folder}}}
steps:
  - image.uniformity_filter
  - image.perceptual_hash
output: {{stage: image.folder_writer, path: {folder}/out}}
"""


def test_a_preview_shows_sizes_and_what_was_measured(
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
    message = " ".join(capsys.readouterr().out.split())
    size = (tmp_path / "b.png").stat().st_size
    assert "1 > max_share 0.9" in message
    assert f"key b, extension png, source {tmp_path}"[:60] in message
    assert f"width 90, height 60, format png, bytes {size}" in message
    assert "\\x" not in message


def test_pages_have_pictures(tmp_path: Path) -> None:
    picture = drawn(Dice("a"), 900, 600)
    picture.save(tmp_path / "a.png")
    (tmp_path / "b.png").write_bytes(b"no picture")
    reader = ImageFolderReader(str(tmp_path), wrong_extension="keep")
    seen = Pipeline("look", stages=[reader]).preview()
    found = {example.before["key"]: example for example in seen.examples}
    thumbnail = found["a"].thumbnail
    assert thumbnail
    with Image.open(io.BytesIO(thumbnail)) as image:
        assert image.size == (216, 144)
    assert found["b"].thumbnail is None
    assert "not an image" in found["b"].before["problem"]
