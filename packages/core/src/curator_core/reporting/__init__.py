"""Reports of runs: closing summaries, tables, and a page to keep."""

from curator_core.reporting.reasons import Failure, drop_reasons, failures_of
from curator_core.reporting.summaries import Summary, print_summary
from curator_core.reporting.tables import console, plain_table, stage_table

__all__ = [
    "Failure",
    "Summary",
    "console",
    "drop_reasons",
    "failures_of",
    "plain_table",
    "print_summary",
    "stage_table",
]
