"""Blends have exact shares, repeat evenly, and are the same every time."""

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from curator_cli.app import call
from curator_core import InputError, LocalExecutor, PipelineError, ResumeError
from curator_text import BlendSource, BlendWorkflow
from curator_text.mixing.blend import apportion, max_total_without_repeats, spread_evenly
from hypothesis import given
from hypothesis import strategies as st

HERE = LocalExecutor(workers=0)
Corpus = Callable[..., Path]
RowsOf = Callable[[Path | str], list[dict[str, Any]]]


def blend(out: Path, *sources: tuple[Path, float], **options: Any) -> BlendWorkflow:
    named = [BlendSource(str(path), weight, path.name) for path, weight in sources]
    return BlendWorkflow(named, source_field="source", output_path=str(out), **options)


def counted(rows: list[dict[str, Any]]) -> dict[str, int]:
    return dict(Counter(row["source"] for row in rows))


def test_result_reports_the_rows_of_each_source(
    corpus: Corpus,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    corpus("web", 20)
    corpus("code", 10)
    monkeypatch.chdir(tmp_path)
    sources = "[{paths: web, weight: 3}, {paths: code, weight: 1, name: programs}]"
    recipe = f"workflow: text.blend\noptions: {{sources: {sources}, output_path: out}}\n"
    Path("blend.yaml").write_text(recipe)
    assert call(["run", "blend.yaml", "--executor", "local"]) == 0
    lines = [" ".join(line.split()) for line in capfd.readouterr().out.splitlines()]
    at = lines.index("sources web, has 20, gives 20, epochs 1.0")
    assert lines[at + 1] == "programs, has 10, gives 6, epochs 0.6"


def test_shares_are_exact_and_small_sources_repeat_evenly(
    corpus: Corpus, rows_of: RowsOf, tmp_path: Path
) -> None:
    web, code = corpus("web", 300, files=4), corpus("code", 30, files=3)
    result = blend(tmp_path / "out", (web, 0.7), (code, 0.3), rows=333).run(HERE)
    rows = rows_of(tmp_path / "out")
    assert counted(rows) == {"web": 233, "code": 100}
    assert result.metadata["sources"] == [
        {"source": "web", "has": 300, "gives": 233, "epochs": 0.7767},
        {"source": "code", "has": 30, "gives": 100, "epochs": 3.3333},
    ]
    times = Counter(row["number"] for row in rows if row["source"] == "code")
    assert Counter(times.values()) == {3: 20, 4: 10}
    assert max(Counter(row["number"] for row in rows if row["source"] == "web").values()) == 1
    files = Counter(row["number"] % 4 for row in rows if row["source"] == "web")
    assert all(58 <= number <= 59 for number in files.values())


def test_repeats_are_spread_over_the_whole_result(
    corpus: Corpus, rows_of: RowsOf, tmp_path: Path
) -> None:
    web, code = corpus("web", 200), corpus("code", 10)
    blend(tmp_path / "out", (web, 1), (code, 1), rows=400).run(HERE)
    rows = rows_of(tmp_path / "out")
    first = Counter(row["number"] for row in rows[:200] if row["source"] == "code")
    assert set(first) == set(range(10))
    assert sum(first.values()) in range(70, 131)


def test_sample_is_independent_of_the_output_order(
    corpus: Corpus, rows_of: RowsOf, tmp_path: Path
) -> None:
    """The choice of a row must not determine its place: a sample would be at the beginning."""
    web, more = corpus("web", 1000), corpus("more", 500)
    blend(tmp_path / "out", (web, 1), (more, 1), rows=200).run(HERE)
    places = [
        place for place, row in enumerate(rows_of(tmp_path / "out")) if row["source"] == "web"
    ]
    assert 80 <= sum(places) / len(places) <= 120


def test_default_size_repeats_no_row(corpus: Corpus, rows_of: RowsOf, tmp_path: Path) -> None:
    web, code = corpus("web", 300), corpus("code", 30)
    blend(tmp_path / "out", (web, 0.8), (code, 0.2)).run(HERE)
    rows = rows_of(tmp_path / "out")
    assert counted(rows) == {"web": 120, "code": 30}
    assert len({row["text"] for row in rows}) == 150


def test_epochs_are_multiples_of_all_rows(corpus: Corpus, rows_of: RowsOf, tmp_path: Path) -> None:
    web, code = corpus("web", 30), corpus("code", 10)
    blend(tmp_path / "out", (web, 1), (code, 1), epochs=1.5).run(HERE)
    assert counted(rows_of(tmp_path / "out")) == {"web": 30, "code": 30}


def test_result_is_the_same_with_any_number_of_workers(
    corpus: Corpus, rows_of: RowsOf, tmp_path: Path
) -> None:
    web, code = corpus("web", 100, files=3), corpus("code", 30)
    made = []
    for number, executor in enumerate([HERE, LocalExecutor(workers=2)]):
        blend(tmp_path / f"out{number}", (web, 1), (code, 1), rows=90).run(executor)
        made.append(rows_of(tmp_path / f"out{number}"))
    assert made[0] == made[1]
    blend(tmp_path / "other", (web, 1), (code, 1), rows=90, seed=5).run(HERE)
    assert rows_of(tmp_path / "other") != made[0]


def test_columns_of_only_some_sources_are_kept(
    corpus: Corpus, rows_of: RowsOf, tmp_path: Path
) -> None:
    web = corpus("web", 5)
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.jsonl").write_text('{"text": "x", "license": "mit"}\n' * 5)
    blend(tmp_path / "out", (web, 1), (other, 1)).run(HERE)
    rows = rows_of(tmp_path / "out")
    assert Counter(row["license"] for row in rows) == {None: 5, "mit": 5}


def test_other_shares_make_a_different_pipeline(corpus: Corpus, tmp_path: Path) -> None:
    web, code = corpus("web", 100), corpus("code", 30)
    blend(tmp_path / "out", (web, 1), (code, 1), rows=20).run(HERE)
    assert blend(tmp_path / "out", (web, 1), (code, 1), rows=20).run(HERE).did_nothing
    with pytest.raises(ResumeError, match="shares"):
        blend(tmp_path / "out", (web, 1), (code, 1), rows=40).run(HERE)


def test_all_invalid_options_are_reported(corpus: Corpus, tmp_path: Path) -> None:
    web = corpus("web", 3)
    with pytest.raises(PipelineError) as caught:
        blend(tmp_path / "out", (web, 0), (web, float("nan")), rows=0, epochs=2).run(HERE)
    message = str(caught.value)
    assert "the weight of web is 0, but must be above 0" in message
    assert "the weight of web is nan" in message
    assert "rows and epochs are both set" in message
    assert "rows is 0" in message
    with pytest.raises(PipelineError, match="sources is empty; name the corpora to blend"):
        blend(tmp_path / "out").run(HERE)


def test_missing_source_is_reported_before_counting(corpus: Corpus, tmp_path: Path) -> None:
    web, out = corpus("web", 3), tmp_path / "out"
    with pytest.raises(PipelineError, match=r"no files match .*wbe .*did you mean .*web"):
        blend(out, (web, 1), (tmp_path / "wbe", 1)).run(HERE)
    assert not out.exists()


def test_source_without_rows_is_refused(corpus: Corpus, tmp_path: Path) -> None:
    web, empty = corpus("web", 3), corpus("empty", 0)
    with pytest.raises(InputError, match="blend: empty has no rows; leave it out"):
        blend(tmp_path / "out", (web, 1), (empty, 1)).run(HERE)


WEIGHTS = st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=8)


@given(st.integers(0, 10**9), WEIGHTS)
def test_apportioned_rows_add_up_and_are_less_than_one_row_off(
    total: int, weights: list[float]
) -> None:
    given = apportion(total, weights)
    assert sum(given) == total
    for rows, weight in zip(given, weights, strict=True):
        assert abs(rows - total * weight / sum(weights)) < 1 + 1e-3


def test_equal_remainders_go_to_the_first() -> None:
    assert apportion(10, [1, 1, 1]) == [4, 3, 3]
    assert apportion(10, [0.7, 0.3]) == [7, 3]


@given(st.data())
def test_largest_total_without_repeats(data: st.DataObject) -> None:
    weights = data.draw(WEIGHTS)
    count = st.integers(1, 10**6)
    counts = data.draw(st.lists(count, min_size=len(weights), max_size=len(weights)))
    total = max_total_without_repeats(counts, weights)
    assert all(a <= b for a, b in zip(apportion(total, weights), counts, strict=True))
    whole = sum(map(Fraction, weights))
    wanted = [(total + 1) * Fraction(weight) / whole for weight in weights]
    assert any(a > b for a, b in zip(wanted, counts, strict=True))


@given(st.data())
def test_batches_together_give_the_requested_rows(data: st.DataObject) -> None:
    counts = data.draw(st.lists(st.integers(1, 10**6), min_size=1, max_size=30))
    wanted = data.draw(st.integers(0, sum(counts)))
    given = spread_evenly(wanted, counts)
    assert sum(given) == wanted
    for taken, count in zip(given, counts, strict=True):
        assert 0 <= taken <= count
        assert abs(taken - wanted * count / sum(counts)) < 1
