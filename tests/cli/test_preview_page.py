"""The page of a preview: one file that needs nothing else, whatever the records contain."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from curator_core import DocumentBatch, Pipeline, processing_stage

Curate = Callable[..., Any]

SCRIPT = "<script>alert('hi')</script> " * 5


@processing_stage(name="pages")
def pages(task: object) -> DocumentBatch:
    rows = [{"id": n, "text": f"{SCRIPT} {n}"} for n in range(3)]
    return DocumentBatch.from_pylist(rows)


@processing_stage(name="upper")
def upper(task: DocumentBatch) -> DocumentBatch:
    rows = [{**row, "text": row["text"].replace("hi", "HELLO")} for row in task.to_pylist()]
    return DocumentBatch.from_pylist(rows)


def test_the_page_is_written_and_named(curate: Curate, workspace: Path) -> None:
    result = curate("preview", "recipe.yaml", "--html")
    assert "page: trial.preview.html" in result.out
    page = (workspace / "trial.preview.html").read_text()
    assert "<del>lantern</del><ins>LANTERN</ins>" in page
    assert "too short" in page
    assert "3 records would be kept" in page
    assert not re.search(r"(src|href)=\"(?!data:)", page)


def test_the_page_is_named_in_json(curate: Curate, workspace: Path) -> None:
    seen = json.loads(curate("preview", "recipe.yaml", "--html", "--json").out)
    assert (workspace / seen["page"]).exists()


def test_notebooks_show_changes_and_text_is_escaped() -> None:
    seen = Pipeline("trial", stages=[pages, upper]).preview()
    shown = seen._repr_html_()
    assert shown
    assert "<script>" not in shown
    assert "<del>hi</del><ins>HELLO</ins>" in shown


def test_a_page_that_cannot_be_written(curate: Curate, workspace: Path) -> None:
    (workspace / "trial.preview.html").mkdir()
    result = curate("preview", "recipe.yaml", "--html")
    assert result.code == 2
    assert "trial.preview.html" in result.err
