"""Benchmarks of several rows: which are measured, on how much, and what is said of each."""

import json
import sys
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).parents[2]
BENCHMARKS = REPOSITORY / "benchmarks"
WITHOUT_ROWS = {"nemo-rules"}
"""It compares decisions, all at once."""

Run = Callable[..., tuple[int, list[Any]]]


@dataclass(frozen=True)
class Sizes:
    rounds: int = 3
    few_files: int = 100
    name: str = "no number, so no option"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """Measure some rows as from a shell: the exit code, and what was kept."""
    sys.path.insert(0, str(BENCHMARKS))
    pytest.importorskip("psutil")
    from measuring.figures import Figure
    from measuring.peers import PeerMissingError
    from measuring.rows import run_rows

    def fast(sizes: Sizes) -> Iterator[Any]:
        told = f"{sizes.few_files} files, {sizes.rounds} rounds"
        yield Figure("files", ">= 50", told, sizes.few_files >= 50)

    def lonely(sizes: Sizes) -> Iterator[Any]:
        yield Figure("by ourselves", "told", "1", None)
        raise PeerMissingError("nothing to install")

    def measured(*arguments: str) -> tuple[int, list[Any]]:
        kept = tmp_path / "kept.json"
        monkeypatch.setattr(sys, "argv", ["bench", *arguments, "--json", str(kept)])
        rows = {"fast": fast, "lonely-peer": lonely}
        code = run_rows("tried", "About.", rows, Sizes(), Sizes(1, 2))
        return code, json.loads(kept.read_text())["figures"]

    yield measured
    sys.path.remove(str(BENCHMARKS))


def test_rows_are_measured_that_are_named(run: Run) -> None:
    code, [figure] = run("fast")
    assert (code, figure["value"], figure["met"]) == (0, "100 files, 3 rounds", True)
    code, figures = run()
    assert [figure["what"] for figure in figures] == ["files", "by ourselves", "lonely-peer"]


def test_an_unknown_row_is_an_error_that_names_the_nearest_and_all(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, meant in (("lonly-peer", " (did you mean lonely-peer?)"), ("xyz", "")):
        with pytest.raises(SystemExit) as error:
            run("fast", name)
        assert error.value.code == 2
        assert f"no row {name}{meant}; there are fast, lonely-peer" in capsys.readouterr().err


def test_sizes_are_options_and_quick_ones_are_small(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    code, [figure] = run("fast", "--quick")
    assert (code, figure["value"], figure["met"]) == (1, "2 files, 1 rounds", False)
    assert "far too small to judge by" in capsys.readouterr().out
    code, [figure] = run("fast", "--quick", "--few-files", "60", "--rounds", "5")
    assert (code, figure["value"]) == (0, "60 files, 5 rounds")


def test_each_figure_is_shown_next_to_its_target(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    for option, verdict in (("--rounds", "yes"), ("--few-files", "NO")):
        run("fast", option, "7")
        [line] = [line for line in capsys.readouterr().out.splitlines() if "files," in line]
        cells = [cell.strip() for cell in line.split("│")]
        assert (cells[1], cells[2], cells[4]) == ("files", ">= 50", verdict)


def test_a_missing_peer_is_reported_but_does_not_fail_the_row(run: Run) -> None:
    code, figures = run("lonely-peer")
    assert code == 0
    assert figures[0]["value"] == "1"
    assert figures[1]["value"] == "nothing to measure with: nothing to install"
    assert figures[1]["met"] is None


def test_every_command_takes_rows() -> None:
    """And the page names every command."""
    settings = tomllib.loads((REPOSITORY / "hatch.toml").read_text())["envs"]
    commands = set(settings["bench"]["scripts"])
    scripts = {
        name: line.split()[1]
        for environment, facts in settings.items()
        if environment.startswith("bench")
        for name, line in facts["scripts"].items()
        if line.startswith("python ")
    }
    assert set(scripts) == commands
    without = {name for name, file in scripts.items()
               if "sys.exit(run_rows(" not in (REPOSITORY / file).read_text()}  # fmt: skip
    assert without == WITHOUT_ROWS
    page = (REPOSITORY / "docs" / "benchmarks.md").read_text()
    assert [name for name in commands if f"`hatch run bench:{name}`" not in page] == []
