# Generated from the package's list of public names: run `hatch run generate`.
from curator_report.failures import Failure as Failure
from curator_report.failures import drop_reasons as drop_reasons
from curator_report.failures import group_failures as group_failures
from curator_report.metrics.server import PrometheusMetrics as PrometheusMetrics
from curator_report.notebook_progress import NotebookProgress as NotebookProgress
from curator_report.page import write_report as write_report
from curator_report.report_pages import ReportPages as ReportPages
from curator_report.run_record import RunRecord as RunRecord
from curator_report.run_record import read_run as read_run
from curator_report.summary import Summary as Summary
from curator_report.summary import print_summary as print_summary
from curator_report.tables import console as console
from curator_report.tables import plain_table as plain_table
from curator_report.tables import stage_table as stage_table
from curator_report.terminal import TerminalProgress as TerminalProgress
from curator_report.terminal import transient_progress as transient_progress

__all__ = [
    "Failure",
    "NotebookProgress",
    "PrometheusMetrics",
    "ReportPages",
    "RunRecord",
    "Summary",
    "TerminalProgress",
    "console",
    "drop_reasons",
    "group_failures",
    "plain_table",
    "print_summary",
    "read_run",
    "stage_table",
    "transient_progress",
    "write_report",
]
