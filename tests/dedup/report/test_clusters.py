"""Reports on duplicates: counts, examples, and escaping."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from curator_core import LocalExecutor
from curator_dedup import ExactDeduplicationWorkflow, SemanticDeduplicationWorkflow
from curator_dedup.report.curve import BandCurve
from curator_dedup.report.html import LONGEST, marked
from curator_dedup.report.lookup import DocumentPlace, look_up_documents

Write = Callable[[Path, list[dict[str, Any]]], Path]

HERE = LocalExecutor(workers=0)


def read_report(folder: Path) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads((folder / "duplicates.json").read_text())
    return facts


@pytest.fixture
def raw(tmp_path: Path, write: Write) -> Path:
    texts = ["one", "two", "one", "<b>three</b>", "One ", "<b>three</b>", "one"]
    pages = [
        {"id": n, "text": text, "url": f"https://{text[:3]}.org/{n}".replace("<b>", "x")}
        for n, text in enumerate(texts)
    ]
    write(tmp_path / "raw/a.jsonl", pages[:4])
    write(tmp_path / "raw/b<i>.parquet", pages[4:])
    return tmp_path / "raw"


def test_duplicates_are_counted_by_file_domain_and_size(raw: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    workflow = ExactDeduplicationWorkflow(str(raw), str(tmp_path / "out"), work_path=str(work))
    assert workflow.run(HERE).report == str(work / "duplicates.html")
    facts = read_report(work)
    assert {Path(one["file"]).name: one["duplicates"] for one in facts["by_file"]} == {
        "a.jsonl": 1, "b<i>.parquet": 2}  # fmt: skip
    assert facts["by_domain"] == {"looked_at": 3, "domains": {"one.org": 2, "x.org": 1}}
    assert facts["cluster_sizes"] == {"2": 1, "3": 1}
    assert (facts["duplicates"], facts["counts"]["kept"]) == (3, 4)


def test_pairs_are_shown_side_by_side_and_escaped(raw: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    ExactDeduplicationWorkflow(
        str(raw), str(tmp_path / "out"), work_path=str(work), normalize=True
    ).run(HERE)
    pairs = [[side["text"] for side in one["documents"]] for one in read_report(work)["examples"]]
    assert sorted(pairs) == [["<b>three</b>", "<b>three</b>"], ["one", "one"]]
    page = (work / "duplicates.html").read_text()
    assert "<pre>&lt;b&gt;three&lt;/b&gt;</pre>" in page
    assert "b&lt;i&gt;.parquet" in page
    assert "<b>three" not in page
    assert "4 of 7 documents are duplicates (57.1 %)" in page
    assert "http" not in page.replace("https://one.org", "")
    assert "@media (max-width: 40rem)" in page  # shows them one below the other


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_similar_vectors_are_shown_by_other_fields(
    tmp_path: Path, write: Write, ending: str
) -> None:
    rows: list[dict[str, Any]] = [
        {"id": n, "caption": f"<i>{n}", "embedding": [1.0, n / 10]} for n in (0, 1, 50)
    ]
    write(tmp_path / f"raw/a.{ending}", rows)
    work = tmp_path / "work"
    raw, out = str(tmp_path / "raw"), str(tmp_path / "out")
    SemanticDeduplicationWorkflow(raw, out, work_path=str(work), n_clusters=1).run(HERE)
    [pair] = read_report(work)["examples"]
    assert pair["similarity"] == pytest.approx(1 / 1.01**0.5)
    texts = sorted(side["text"] for side in pair["documents"])
    assert texts == ["id: 0\ncaption: <i>0", "id: 1\ncaption: <i>1"]
    page = (work / "duplicates.html").read_text()
    assert "with a cosine of 0.9950" in page
    assert "<i>0" not in page


def test_image_bytes_are_not_shown(tmp_path: Path, write: Write) -> None:
    path = write(tmp_path / "a.parquet", [{"id": 1, "image": b"x"}])
    place = DocumentPlace(str(path), 0)
    assert look_up_documents([place], ["id", "image"]) == {place: {"id": 1}}
    assert look_up_documents([place], ["image"]) == {place: {"image": b"x"}}


def test_finished_workflow_keeps_its_report(raw: Path, tmp_path: Path) -> None:
    workflow = ExactDeduplicationWorkflow(str(raw), str(tmp_path / "out"))
    page = Path(str(workflow.run(HERE).report))
    page.write_text("kept")
    assert workflow.run(HERE).report == str(page)
    assert page.read_text() == "kept"


def test_report_can_be_switched_off(raw: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    workflow = ExactDeduplicationWorkflow(
        str(raw), str(tmp_path / "out"), work_path=str(work), report=False
    )
    assert workflow.run(HERE).report is None
    assert not list(work.glob("duplicates.*"))


def test_report_without_duplicates_says_so(tmp_path: Path, write: Write) -> None:
    write(tmp_path / "raw/a.jsonl", [{"text": "x"}, {"text": "y"}])
    result = ExactDeduplicationWorkflow(str(tmp_path / "raw"), str(tmp_path / "out")).run(HERE)
    assert "0 of 2 documents are duplicates" in Path(str(result.report)).read_text()


def test_documents_are_looked_up_by_file_and_row(tmp_path: Path, write: Write) -> None:
    import gzip

    records = [{"id": n, "text": "x" * (n % 50)} for n in range(300)]
    plain = write(tmp_path / "a.jsonl", records)
    parquet = write(tmp_path / "b.parquet", records)
    packed = tmp_path / "c.jsonl.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    starts = [0]
    for line in plain.read_bytes().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for path, row in ((plain, starts[123]), (packed, starts[123]), (parquet, 123)):
        places = [
            DocumentPlace(str(path), row),
            DocumentPlace(str(path), 0),
            DocumentPlace(str(tmp_path / "missing"), 0),
        ]
        found = look_up_documents(places, ["id", "nothing"])
        assert found == {places[0]: {"id": 123}, places[1]: {"id": 0}}


def test_differences_are_marked() -> None:
    assert marked("a <b> c", "a <d> c") == (
        "a <mark>&lt;b&gt; </mark>c", "a <mark>&lt;d&gt; </mark>c")  # fmt: skip
    assert marked("same", "same") == ("same", "same")
    left, right = marked("x" * (LONGEST + 5), "x" * LONGEST)
    assert left.endswith(" … <i>5 more characters</i>")
    assert "more characters" not in right


@pytest.mark.parametrize(("bands", "rows"), [(14, 8), (20, 13), (1, 1)])
def test_curve_is_the_probability_of_a_shared_band(bands: int, rows: int) -> None:
    curve = BandCurve(bands, rows)
    assert curve.probability(0) == 0
    assert curve.probability(1) == 1
    assert curve.probability(0.8) == pytest.approx(1 - (1 - 0.8**rows) ** bands)
    assert curve.threshold == pytest.approx((1 / bands) ** (1 / rows))
    assert f"threshold {curve.threshold:.2f}" in curve.svg()
