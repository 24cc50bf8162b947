"""Blends have exact shares, repeat evenly, and are the same every time."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from curator_core import InputError, LocalExecutor, PipelineError, ResumeError
from curator_core.cli.calling import call
from curator_text import BlendSource, BlendWorkflow

HERE = LocalExecutor(workers=0)
Corpus = Callable[..., Path]
RowsOf = Callable[[Path | str], list[dict[str, Any]]]


def blend(out: Path, *sources: tuple[Path, float], **options: Any) -> BlendWorkflow:
    named = [BlendSource(str(path), weight, path.name) for path, weight in sources]
    return BlendWorkflow(named, source_field="source", output_path=str(out), **options)


def counted(rows: list[dict[str, Any]]) -> dict[str, int]:
    return dict(Counter(row["source"] for row in rows))


def test_what_each_source_gave_can_be_read(
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


def test_a_sample_is_no_function_of_the_order_it_is_put_in(
    corpus: Corpus, rows_of: RowsOf, tmp_path: Path
) -> None:
    """What chooses a row must not decide where it goes, or a sample would be at the beginning."""
    web, more = corpus("web", 1000), corpus("more", 500)
    blend(tmp_path / "out", (web, 1), (more, 1), rows=200).run(HERE)
    places = [
        place for place, row in enumerate(rows_of(tmp_path / "out")) if row["source"] == "web"
    ]
    assert 80 <= sum(places) / len(places) <= 120


def test_without_a_size_nothing_repeats(corpus: Corpus, rows_of: RowsOf, tmp_path: Path) -> None:
    web, code = corpus("web", 300), corpus("code", 30)
    blend(tmp_path / "out", (web, 0.8), (code, 0.2)).run(HERE)
    rows = rows_of(tmp_path / "out")
    assert counted(rows) == {"web": 120, "code": 30}
    assert len({row["text"] for row in rows}) == 150


def test_epochs_count_what_all_have(corpus: Corpus, rows_of: RowsOf, tmp_path: Path) -> None:
    web, code = corpus("web", 30), corpus("code", 10)
    blend(tmp_path / "out", (web, 1), (code, 1), epochs=1.5).run(HERE)
    assert counted(rows_of(tmp_path / "out")) == {"web": 30, "code": 30}


def test_the_same_every_time_and_with_any_number_of_workers(
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


def test_columns_that_only_some_sources_have(
    corpus: Corpus, rows_of: RowsOf, tmp_path: Path
) -> None:
    web = corpus("web", 5)
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.jsonl").write_text('{"text": "x", "license": "mit"}\n' * 5)
    blend(tmp_path / "out", (web, 1), (other, 1)).run(HERE)
    rows = rows_of(tmp_path / "out")
    assert Counter(row["license"] for row in rows) == {None: 5, "mit": 5}


def test_other_shares_are_another_pipeline(corpus: Corpus, tmp_path: Path) -> None:
    web, code = corpus("web", 100), corpus("code", 30)
    blend(tmp_path / "out", (web, 1), (code, 1), rows=20).run(HERE)
    assert blend(tmp_path / "out", (web, 1), (code, 1), rows=20).run(HERE).did_nothing
    with pytest.raises(ResumeError, match="shares"):
        blend(tmp_path / "out", (web, 1), (code, 1), rows=40).run(HERE)


def test_wrong_options_are_all_told(corpus: Corpus, tmp_path: Path) -> None:
    web = corpus("web", 3)
    with pytest.raises(PipelineError) as caught:
        blend(tmp_path / "out", (web, 0), (web, float("nan")), rows=0, epochs=2).run(HERE)
    told = str(caught.value)
    assert "the weight of web is 0, but must be above 0" in told
    assert "the weight of web is nan" in told
    assert "rows and epochs are both set" in told
    assert "rows is 0" in told
    with pytest.raises(PipelineError, match="sources is empty; name the corpora to blend"):
        blend(tmp_path / "out").run(HERE)


def test_a_source_that_is_not_there_is_told_before_anything_is_counted(
    corpus: Corpus, tmp_path: Path
) -> None:
    web, out = corpus("web", 3), tmp_path / "out"
    with pytest.raises(PipelineError, match=r"no files match .*wbe .*did you mean .*web"):
        blend(out, (web, 1), (tmp_path / "wbe", 1)).run(HERE)
    assert not out.exists()


def test_a_source_without_rows_is_told(corpus: Corpus, tmp_path: Path) -> None:
    web, empty = corpus("web", 3), corpus("empty", 0)
    with pytest.raises(InputError, match="blend: empty has no rows; leave it out"):
        blend(tmp_path / "out", (web, 1), (empty, 1)).run(HERE)
