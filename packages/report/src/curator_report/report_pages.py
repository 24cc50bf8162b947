"""Report pages as observers leave them: of runs in their run directories, and of workflows."""

from curator_core import Observer, RunInfo, RunResult, WorkflowInfo, WorkflowResult
from curator_core.logs import log
from curator_core.run.directory import RunDirectory

from curator_report.summary import Summary

LOG = log()


class ReportPages(Observer):
    """Writes a page about each run that has a run directory, and about each workflow."""

    wait_s = 600.0

    def run_ended(self, run: RunInfo, result: RunResult) -> None:
        from curator_report.page import write_report

        run_dir = result.run_dir
        if run_dir is None or run.storage_options is not None or Summary("", result).is_repetition:
            return
        try:
            if RunDirectory(run_dir).facts() is not None:  # else it was deleted meanwhile
                write_report(run_dir)
        except Exception as error:  # noqa: BLE001 - a file system may raise anything
            LOG.warning("the report could not be written: %s", error)

    def workflow_ended(self, workflow: WorkflowInfo, result: WorkflowResult) -> None:
        from curator_report.workflow_page import remove_unfinished, write_unfinished

        if workflow.error is None:
            remove_unfinished(workflow.work_dir, workflow.storage_options)
            result.report = workflow.write_report()
            return
        page = write_unfinished(
            workflow.name,
            result.runs,
            workflow.error,
            workflow.work_dir,
            workflow.storage_options,
        )
        if page is not None:
            LOG.warning("%s: what is done, and how to resume: %s", workflow.name, page)
