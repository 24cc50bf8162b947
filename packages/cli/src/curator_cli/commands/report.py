"""`curate report`: what a run did, with every drop reason, and the report page."""

from typing import TYPE_CHECKING

import click
from curator_core.errors import OutputError

from curator_cli.options import with_output
from curator_cli.output import Screen, note

if TYPE_CHECKING:
    from curator_report.run_record import RunRecord


@click.command()
@click.argument("run", metavar="[RUN]", required=False)
@with_output
def report(screen: Screen, run: str | None) -> None:
    """Show what a run did, with every drop reason, and write report.html.

    RUN is a run directory, or the output folder of a run; by default, the newest run in the
    current folder.
    """
    from curator_report import drop_reasons
    from curator_report.curation_record import read_record, write_page

    from curator_cli.run_directories import find_run_or_curation

    run_dir = find_run_or_curation(run)
    record = read_record(run_dir)
    page = None
    try:
        page = write_page(run_dir)
    except (OSError, OutputError) as error:
        note(f"the report could not be written: {error}")
    reasons = drop_reasons(record.result.stages)
    listed = [{"stage": s, "reason": r, "items": n} for s, r, n in reasons]
    screen.print_json({**record.to_json(), "dropped": listed, "report": page})
    if not screen.as_json:
        _show_report(screen, record, page)


def _show_report(screen: Screen, record: "RunRecord", page: str | None) -> None:
    from curator_core.model.formatting import count, share
    from curator_report import Summary, drop_reasons, plain_table, stage_table
    from curator_report.page import describe_state
    from curator_report.summary import details, next_command
    from rich.text import Text

    result = record.result
    screen.show(Text(describe_state(record), style="bold"))
    screen.print_line()
    screen.show(stage_table(result.stages, most_rows=None, has_reasons=False))
    screen.print_line()
    table = plain_table("dropped", "share", "stage", "reason", numbers=("dropped",))
    table.columns[-1].no_wrap = False
    for stage, reason, items in drop_reasons(result.stages):
        part = share(items, result.stages[stage].items_received)
        table.add_row(count(items), part, Text(stage), Text(reason))
    if table.row_count:
        screen.show(table)
        screen.print_line()
    summary, is_running = Summary(record.name, result, page), record.state == "running"
    following = [("next", " ".join(next_command(record)))] if is_running else summary.following()
    account = [*summary.kept(), *summary.account()]
    screen.show(details([*account, *_workflow_page(record.path), *following]))


def _workflow_page(run_dir: str) -> list[tuple[str, str]]:
    """Return the path of the page of the run's workflow, or how to get it.

    Only the workflow itself can write it: the run directory does not have its options.
    """
    from curator_core.io.filesystems import base_name, full_path, open_filesystem, parent_of
    from curator_report.summary import workflow_folder

    folder = workflow_folder(run_dir)
    if not folder:
        return []
    fs, root = open_filesystem(folder)
    pages = [str(path) for path in fs.ls(root, detail=False) if str(path).endswith(".html")]
    if pages:
        return [("workflow", full_path(fs, page)) for page in sorted(pages)]
    name = base_name(parent_of(run_dir))
    text = f"{name} has no page of its own yet: run it again; finished pipelines are not repeated"
    return [("workflow", text)]
