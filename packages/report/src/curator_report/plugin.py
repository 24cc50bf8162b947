"""The plugin of curator-report: observers of runs, and the names that it exports."""

from curator_core import hookimpl

EXPORTS = {
    "curator_report.failures": ("Failure", "drop_reasons", "group_failures"),
    "curator_report.metrics.server": ("PrometheusMetrics",),
    "curator_report.notebook_progress": ("NotebookProgress",),
    "curator_report.page": ("write_report",),
    "curator_report.report_pages": ("ReportPages",),
    "curator_report.run_record": ("RunRecord", "read_run"),
    "curator_report.summary": ("Summary", "print_summary"),
    "curator_report.tables": ("console", "plain_table", "stage_table"),
    "curator_report.terminal": ("TerminalProgress", "transient_progress"),
}


@hookimpl
def curator_observers() -> dict[str, str]:
    return {
        "report.notebook": "curator_report.notebook_progress:NotebookProgress",
        "report.pages": "curator_report.report_pages:ReportPages",
        "report.terminal": "curator_report.terminal:TerminalProgress",
    }
