"""The index and the pages of stages are those of the code as it is now."""

from curator_core.plugins.registry import plugins
from scriptkit import load_script

GALLERY = load_script("stage_gallery")


def test_the_index_and_the_pages_are_up_to_date() -> None:
    expected = GALLERY.outputs()
    behind = [str(file) for file, text in expected.items() if file.read_text("utf-8") != text]
    assert behind == [], "hatch run generate"
    assert set(GALLERY.DOCS.iterdir()) == {file for file in expected if file.suffix == ".md"}


def test_every_stage_and_workflow_is_on_a_page() -> None:
    text = "".join(file.read_text("utf-8") for file in GALLERY.DOCS.iterdir())
    headings = {line.removeprefix("## ") for line in text.splitlines()}
    assert {*plugins().stages, *plugins().workflows} <= headings
