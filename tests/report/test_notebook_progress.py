"""Progress in notebooks: one output per run, which is updated in place."""

import sys
from types import ModuleType, SimpleNamespace

import pytest
from curator_core import DocumentBatch, LocalExecutor, Pipeline, processing_stage
from curator_core.model.progress import Progress, StageProgress
from curator_core.model.records import StageCounts
from curator_report.notebook_progress import NotebookProgress, progress_view


@processing_stage(name="same")
def same(task: DocumentBatch) -> DocumentBatch:
    return task


class Notebook:
    """A stand-in for IPython in a kernel, which records what a front end would show."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.outputs: list[list[str]] = []
        shell, display = ModuleType("IPython"), ModuleType("IPython.display")
        vars(shell)["get_ipython"] = lambda: SimpleNamespace(kernel=object())
        vars(display).update(HTML=str, display=self.display)
        monkeypatch.setitem(sys.modules, "IPython", shell)
        monkeypatch.setitem(sys.modules, "IPython.display", display)

    def display(self, shown: str, *, display_id: bool) -> SimpleNamespace:
        assert display_id
        output = [shown]
        self.outputs.append(output)
        return SimpleNamespace(update=output.append)


def run() -> None:
    tasks = [DocumentBatch.from_pylist([{"text": str(n)}]) for n in range(3)]
    Pipeline("cell", stages=[same]).run(LocalExecutor(workers=0), tasks)


def test_a_run_updates_one_output_and_leaves_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = Notebook(monkeypatch)
    run()
    [output] = notebook.outputs
    assert "3 sources in " in output[-1]
    assert "<table>" not in output[-1]


def test_nothing_is_shown_if_progress_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = Notebook(monkeypatch)
    monkeypatch.setenv("CURATOR_PROGRESS", "0")
    run()
    assert notebook.outputs == []


def test_outside_of_notebooks_it_claims_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert not NotebookProgress().claims_terminal
    plain = ModuleType("IPython")
    vars(plain)["get_ipython"] = lambda: None
    monkeypatch.setitem(sys.modules, "IPython", plain)
    assert not NotebookProgress().claims_terminal


def test_the_table_has_files_and_records_of_each_stage() -> None:
    counts = StageCounts(items_in=2, files_in=2, items_out=9000)
    progress = Progress("cell", 5.0, 1, 1, total=2, stages=[StageProgress("read", counts, 30.0)])
    view = progress_view(progress)
    assert view.rows == [["read", "2", "0", "9,000", "0", "0", "30/s", "0"]]
    assert "1 of 2 sources" in view.caption
