"""Reports on passages: what was cut out of each file, and how often it occurs in the corpus."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from curator_core import LocalExecutor
from curator_dedup import LineDeduplicationWorkflow, SubstringDeduplicationWorkflow

Write = Callable[[Path, list[dict[str, Any]]], Path]

HERE = LocalExecutor(workers=0)

FOOT = "<b>all</b> rights reserved"


@pytest.fixture
def raw(tmp_path: Path, write: Write) -> Path:
    for place, ending in enumerate(("jsonl", "parquet")):
        texts = [f"own {place} {n}\n{FOOT}" if n % 2 else f"own {place} {n}" for n in range(6)]
        pages = [{"id": n, "text": text} for n, text in enumerate([*texts, FOOT])]
        write(tmp_path / f"raw/{place}<i>.{ending}", pages)
    return tmp_path / "raw"


def read_report(folder: Path) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads((folder / "duplicates.json").read_text())
    return facts


def test_passages_are_counted_by_file_and_shown_with_their_first_place(
    raw: Path, tmp_path: Path
) -> None:
    work = tmp_path / "work"
    workflow = LineDeduplicationWorkflow(str(raw), str(tmp_path / "out"), work_path=str(work))
    assert workflow.run(HERE).report == str(work / "duplicates.html")
    facts = read_report(work)
    assert facts["times"] == {"8": 1}
    by_file = {Path(one.pop("file")).name: one for one in facts["by_file"]}
    size = len(FOOT)
    assert by_file == {
        "0<i>.jsonl": {"changed": 3, "emptied": 1, "passages": 3, "characters": 3 * size},
        "1<i>.parquet": {"changed": 4, "emptied": 1, "passages": 4, "characters": 4 * size},
    }
    assert {one["passage"] for one in facts["examples"]} == {FOOT}
    assert Path(facts["examples"][0]["first"]["file"]).name == "0<i>.jsonl"
    page = (work / "duplicates.html").read_text()
    assert "7 of 14 documents (50.0 %)" in page
    assert "<mark>&lt;b&gt;all&lt;/b&gt; rights reserved</mark>" in page
    assert "0&lt;i&gt;.jsonl" in page
    assert "<b>all" not in page


def test_report_covers_the_current_files_only(raw: Path, tmp_path: Path, write: Write) -> None:
    def run() -> Any:
        out = str(tmp_path / "out")
        return SubstringDeduplicationWorkflow(
            str(raw), out, min_tokens=3, keep="mark", partitions=1
        ).run(HERE)

    page = Path(str(run().report))
    page.write_text("kept")
    assert run().did_nothing
    assert page.read_text() == "kept"
    write(raw / "2.jsonl", [{"id": 0, "text": FOOT}])
    result = run()
    assert result.metadata["changed"] == 8
    assert "Repeated passages were marked in 8 of 15 documents" in page.read_text()
    assert sum(one["changed"] for one in read_report(page.parent)["by_file"]) == 8


def test_report_can_be_switched_off(raw: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    result = LineDeduplicationWorkflow(
        str(raw), str(tmp_path / "out"), work_path=str(work), report=False
    ).run(HERE)
    assert result.report is None
    assert not list(work.glob("duplicates.*"))
