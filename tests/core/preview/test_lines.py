"""Previews as text: every line fits, and no record fills the screen."""

import pytest
from curator_core import DocumentBatch, Pipeline, processing_stage
from curator_core.preview import Preview, preview

TEXTS = ["short", "x" * 5000, "word " * 4000, "line\n" * 100, "\t tab \x1b[31m red"]


@processing_stage(name="pages")
def pages(task: object) -> DocumentBatch:
    rows = [{"id": n, "url": f"https://example.org/{n}", "text": t} for n, t in enumerate(TEXTS)]
    return DocumentBatch.from_pylist(rows)


@processing_stage(name="edit")
def edit(task: DocumentBatch) -> DocumentBatch:
    rows = [{**row, "text": f"{row['text'][:-3]}new{'y' * 300}"} for row in task.to_pylist()]
    return DocumentBatch.from_pylist(rows)


@processing_stage(name="short_only")
def short_only(task: DocumentBatch) -> object:
    texts = task.data.column("text").to_pylist()
    return task.keep([len(text) < 1000 for text in texts], "a reason " + "of many words " * 30)


@pytest.fixture(scope="module")
def found() -> Preview:
    return preview(Pipeline("trial", stages=[pages, edit, short_only]).build())


@pytest.mark.parametrize("width", [40, 80, 120])
@pytest.mark.parametrize("colored", [True, False])
def test_every_line_fits(found: Preview, width: int, colored: bool) -> None:
    lines = ["".join(text for text, _ in line) for line in found.lines(width, colored=colored)]
    assert max(map(len, lines)) <= width
    assert len(lines) < 60
    assert all("\x1b" not in line for line in lines)


def test_changes_are_marked_without_colours(found: Preview) -> None:
    assert "[-short-]" in str(found)
    assert "{+shnew" in str(found)
    styles = {style for line in found.lines(colored=True) for _, style in line}
    assert {"deleted", "inserted", "dropped"} <= styles
