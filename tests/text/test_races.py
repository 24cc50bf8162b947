"""Benchmarks report a speed-up only for equal work."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def races() -> Iterator[Any]:
    """Import the benchmark module from its folder, which is no package."""
    folders = [str(REPOSITORY / name) for name in ("benchmarks", "examples")]
    sys.path[:0] = folders
    pytest.importorskip("psutil")
    import text_races

    yield text_races
    for folder in folders:
        sys.path.remove(folder)


def race(races: Any, tmp_path: Path, monkeypatch: Any, theirs: Any, **facts: Any) -> list[Any]:
    """We keep every page unchanged in one second; the peer is a function of an id."""
    pages = tmp_path / "pages"
    records = [{"id": f"d{number}", "text": f"text {number}"} for number in range(100)]
    races.write(iter(records), pages, 100, 2)
    runs: list[int] = []

    def run(of: Any, seconds: float, source: Path) -> Any:
        out = tmp_path / "out"
        out.mkdir(exist_ok=True)
        runs.append(1)
        made = [of(one, len(runs)) for one in races.records_in(source)]
        lines = "".join(json.dumps(one) + "\n" for one in made if one is not None)
        (out / "part.jsonl").write_text(lines)
        return races.Outcome({}, seconds, 0, seconds), out

    kind = type("Tried", (races.Race,), {
        "_run_ours": lambda self, engine, source: run(lambda one, _: one, 1.0, source),
        "_run_theirs": lambda self, source: run(theirs, 10.0, source),
    })  # fmt: skip
    monkeypatch.setattr(races, "corpus", lambda number: pages)
    monkeypatch.setattr(races, "peer_python", lambda *named: sys.executable)
    opponent = races.Opponent("rules", "", "", ("peer",), {"python": 5}, **facts)
    tried = kind(opponent, races.Sizes(rounds=1, documents=100), tmp_path / "work", ["python"])
    return list(tried.figures())


def test_speed_up_is_reported_for_equal_decisions(
    races: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    [figure] = race(races, tmp_path, monkeypatch, lambda one, _: one)
    assert figure.value.startswith("10.0x (100 and 10 pages per CPU-second)")
    assert "100.00%" in figure.value
    assert figure.met is True


def test_different_decisions_are_excluded_and_reported(
    races: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    def drops_one(one: dict[str, str], _: int) -> dict[str, str] | None:
        return None if one["id"] == "d7" else one

    for same_words, met in ((True, False), (False, True)):
        [figure] = race(races, tmp_path, monkeypatch, drops_one, same_words=same_words)
        assert "99.00% of decisions agree, the others are left out" in figure.value
        assert figure.what.endswith("python, 99 pages")
        assert figure.met is met


def test_different_text_is_a_different_decision(
    races: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    def edits_many(one: dict[str, str], _: int) -> dict[str, str]:
        return {**one, "text": "edited"} if int(one["id"][1:]) < 6 else one

    [figure] = race(races, tmp_path, monkeypatch, edits_many)
    assert "no speed-up" in figure.value
    assert "94.00%" in figure.value
    assert figure.met is False


def test_difference_in_the_timed_runs_is_reported(
    races: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    def moody(one: dict[str, str], run: int) -> dict[str, str] | None:
        return None if run > 2 and one["id"] == "d3" else one

    [figure] = race(races, tmp_path, monkeypatch, moody)
    assert figure.value == (
        "no speed-up is reported: theirs and python differ in 1 of the timed pages, such as d3"
    )
    assert figure.met is False
