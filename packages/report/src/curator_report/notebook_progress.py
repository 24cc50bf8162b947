"""Progress in notebooks: a table that is updated in place below the cell."""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from curator_core import Observer, RunInfo
from curator_core.model.formatting import count, rate
from curator_core.model.progress import Meter, Progress
from curator_core.model.snapshot import RunSnapshot
from curator_core.run.progress_log import closing_line, progress_line

if TYPE_CHECKING:
    from curator_report.notebook import View

REFRESH_S = 0.5
_MOST_STAGES = 30


class NotebookProgress(Observer):
    """Shows one run as a table in the output of its cell, and at the end in one line."""

    def __init__(self) -> None:
        self._meter = Meter()
        self._handle: Any = None
        self._next = 0.0

    @property
    def claims_terminal(self) -> bool:
        """Whether this is a notebook. IPython is not imported for it."""
        shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
        return getattr(shell, "kernel", None) is not None

    def prepare(self) -> None:
        """Take the place below the cell; later updates come from a thread."""
        if self.claims_terminal:
            shown = _ipython_display()
            self._handle = shown.display(shown.HTML(""), display_id=True)

    def progress(self, run: RunInfo, snapshot: RunSnapshot) -> None:
        if self._handle is None:
            return
        progress = self._meter.read(snapshot)
        if snapshot.status != "running":
            self._show(end_view(progress))
            self._meter, self._next = Meter(), 0.0  # a retry has several parts
        elif snapshot.seconds >= self._next:
            self._next = snapshot.seconds + REFRESH_S
            self._show(progress_view(progress))

    def _show(self, view: "View") -> None:
        self._handle.update(_ipython_display().HTML(view.to_html()))


def _ipython_display() -> Any:
    """Return IPython's display module: it is there if this is a notebook, and only then."""
    return import_module("IPython.display")


def progress_view(progress: Progress) -> "View":
    """Return a row for each stage, and how far the run is."""
    from curator_report.notebook import View

    rows = [
        [
            stage.name,
            count(stage.counts.files) if stage.counts.files else "",
            count(stage.counts.records_in),
            count(stage.counts.records_out),
            count(stage.counts.items_dropped),
            count(stage.counts.items_failed + stage.counts.items_rejected),
            rate(stage.rate),
            count(stage.waiting),
        ]
        for stage in progress.stages[:_MOST_STAGES]
    ]
    head = ("stage", "files", "in", "out", "dropped", "failed", "rate", "queue")
    caption = progress_line(progress).partition(": ")[2]
    return View(progress.name, caption, head, rows)


def end_view(progress: Progress) -> "View":
    """Return the line that is left when the run has ended."""
    from curator_report.notebook import View

    return View(progress.name, closing_line(progress).partition(": ")[2], (), ())
