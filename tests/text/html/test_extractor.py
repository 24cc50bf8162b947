import pyarrow as pa
import pytest
from curator_core import DocumentBatch
from curator_core.testing import check_stage, run_stages
from curator_text import HtmlExtractor

pytest.importorskip("resiliparse")

SENTENCE = "She walked over the bridge and was in the market before it was light, as on every day. "
MENU = "<nav><ul>" + "<li><a href='/x'>Home</a></li>" * 20 + "</ul></nav>"
PAGE = (
    "<!DOCTYPE html><html lang='en-GB'><head><title>The &amp; bridge</title></head><body>"
    f"{MENU}<main><article><h1>The bridge</h1>" + f"<p>{SENTENCE * 4}</p>" * 3 + "</article></main>"
    "<footer>Copyright, all rights reserved</footer></body></html>"
)
DEEP = "<div>" * 100_000 + "x"
"""Takes a minute, and four for twice as much."""

ALGORITHMS = ["resiliparse", "trafilatura", "justext"]


def batch(*pages: bytes | str | None, **columns: list[str]) -> DocumentBatch:
    return DocumentBatch(pa.table({"content": pa.array(pages), **columns}))


def texts(stage: HtmlExtractor, *tasks: DocumentBatch) -> list[str | None]:
    outputs = run_stages([stage], tasks).outputs
    return [text for one in outputs for text in one.data["text"].to_pylist()]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_text_title_and_language(algorithm: str) -> None:
    pytest.importorskip(algorithm)
    stage = HtmlExtractor(algorithm)  # type: ignore[arg-type]
    [output] = run_stages([stage], [batch(PAGE.encode())]).outputs
    [row] = output.data.to_pylist()
    assert list(row) == ["text", "title", "html_language"]
    assert (row["title"], row["html_language"]) == ("The & bridge", "en")
    assert SENTENCE.strip() in row["text"]
    assert "Home" not in row["text"]
    assert "Copyright" not in row["text"]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_same_page_always_gives_the_same_text(algorithm: str) -> None:
    pytest.importorskip(algorithm)
    stage = HtmlExtractor(algorithm)  # type: ignore[arg-type]
    found = texts(stage, *[batch(PAGE.encode()) for _ in range(6)])
    assert len(found) == 6
    assert len(set(found)) == 1


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_stage_fulfills_the_stage_contract(algorithm: str) -> None:
    pytest.importorskip(algorithm)
    check_stage(
        HtmlExtractor(algorithm),  # type: ignore[arg-type]
        batch(PAGE.encode(), None, b""),
        batch(b"<p>x"),
    )


HOSTILE = [b"", b"\0" * 1000, bytes(range(256)) * 20, b"<" * 5000, b"&" * 5000, b"<p>\xff\xfe" * 99]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("page", HOSTILE)
def test_junk_page_does_not_affect_the_others(algorithm: str, page: bytes) -> None:
    pytest.importorskip(algorithm)
    stage = HtmlExtractor(algorithm)  # type: ignore[arg-type]
    run = run_stages([stage], [batch(PAGE.encode(), page, PAGE.encode())], on_error="quarantine")
    rows = run.outputs[0].data.to_pylist()
    assert "She walked" in rows[0]["text"]
    assert rows[-1] == rows[0]
    assert len(rows) + len(run.report.quarantined) == 3


def test_slow_page_is_quarantined_alone() -> None:
    stage = HtmlExtractor(page_timeout_s=1)
    tasks = [batch(PAGE.encode(), DEEP.encode(), PAGE.encode())]
    run = run_stages([stage], tasks, on_error="quarantine")
    assert [row["text"][:10] for row in run.outputs[0].data.to_pylist()] == ["The bridge"] * 2
    [bad] = run.report.quarantined
    assert bad.reason == "reading the page took more than 1 s of CPU time"
    assert bad.where.startswith("row 1 of ")


def test_server_charset_is_used() -> None:
    page = "<p>Grüße</p>".encode("cp1252")
    assert texts(HtmlExtractor(), batch(page, charset=["latin-1"])) == ["Grüße"]
    assert texts(HtmlExtractor(), batch("<p>Grüße</p>", charset=["ascii"])) == ["Grüße"]


def test_missing_page_has_no_text() -> None:
    assert texts(HtmlExtractor(), batch(None, b"<p>x")) == [None, "x"]


def test_column_of_missing_pages() -> None:
    assert texts(HtmlExtractor(), DocumentBatch(pa.table({"content": pa.nulls(2)}))) == [None, None]


def test_pages_of_all_sizes_keep_their_rows() -> None:
    sizes = [0, 1, 200, 30_000, 3, 700_000, 5] * 20
    pages = [f"<title>{place}</title><p>{'é ' * size}{place}" for place, size in enumerate(sizes)]
    [output] = run_stages([HtmlExtractor(main_content=False)], [batch(*pages)]).outputs
    assert output.data["title"].to_pylist() == [str(place) for place in range(len(sizes))]
    found = output.data["text"].to_pylist()
    assert [text.split()[-1] for text in found] == output.data["title"].to_pylist()
    assert [text.count("é") for text in found] == sizes
    output.data.validate(full=True)


def test_lines_with_few_stop_words_are_removed() -> None:
    page = f"<html lang=en><p>{SENTENCE}</p><p>Buy shoes boots sandals</p>".encode()
    assert "shoes" in str(texts(HtmlExtractor(), batch(page)))
    found = texts(HtmlExtractor(stop_word_density=0.32), batch(page))
    assert [str(text).strip() for text in found] == [SENTENCE.strip()]


def test_options_are_passed_to_the_algorithm() -> None:
    assert "Home" in str(texts(HtmlExtractor(main_content=False), batch(PAGE)))
    linked = texts(HtmlExtractor(links=True, main_content=False), batch(PAGE))
    assert "/x" in str(linked)


def test_page_column_can_be_kept() -> None:
    [output] = run_stages([HtmlExtractor(keep_html=True)], [batch(b"<p>x")]).outputs
    assert output.data["content"].to_pylist() == [b"<p>x"]


@pytest.mark.parametrize(
    ("stage", "facts"),
    [
        (HtmlExtractor("justex"), ["'justex'", "did you mean justext?"]),  # type: ignore[arg-type]
        (HtmlExtractor(length_low=3), ["length_low", "justext", "'resiliparse'"]),
        (HtmlExtractor(favor_recall=False), ["favor_recall", "trafilatura", "'resiliparse'"]),
        (HtmlExtractor(page_timeout_s=0), ["page_timeout_s is 0", "more than 0"]),
        (HtmlExtractor(title_field="text"), ["same column", "text, text, html_language"]),
    ],
)
def test_invalid_options_are_reported(stage: HtmlExtractor, facts: list[str]) -> None:
    [problem] = stage.check()
    assert [fact for fact in facts if fact not in problem] == []


def test_column_of_numbers_is_refused() -> None:
    run = run_stages(
        [HtmlExtractor()], [DocumentBatch(pa.table({"content": [1]}))], on_error="quarantine"
    )
    [bad] = run.report.quarantined
    assert bad.reason.startswith("column 'content' holds int64, but must hold pages")


def test_default_page_timeout_is_five_seconds() -> None:
    assert HtmlExtractor().page_timeout_s == 5
