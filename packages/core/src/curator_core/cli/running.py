"""`curate run` and `curate retry`."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from curator_core.cli.options import Order, on_recipe, permitting, recipe_text, speaks
from curator_core.cli.screens import Screen, logged, note
from curator_core.errors import BudgetError, PipelineError

if TYPE_CHECKING:
    from curator_core.pipeline import Pipeline
    from curator_core.plan.executor import Executor
    from curator_core.recipes import Permissions, Recipe
    from curator_core.run.input_changes import InputPolicy
    from curator_core.run.result import RunResult

QUARANTINED = 3
KEPT_NOTHING = 6
"""Exit codes of runs that ended without an error but need attention."""


@click.command()
@on_recipe
@click.option("--run-dir", metavar="PATH", help="Keep the run here, not beside its output.")
@click.option(
    "--no-resume",
    is_flag=True,
    help="Begin anew: what an earlier run of this recipe wrote is replaced.",
)
@click.option("--prune", is_flag=True, help="Delete the output of removed input; see --yes.")
@click.option("--yes", is_flag=True, help="Let --prune delete, not only list.")
@click.option(
    "--keep", "--keep-removed", "keep_removed", is_flag=True,
    help="Keep the output of removed input.",
)  # fmt: skip
@click.option("--shared", is_flag=True, help="Let your group resume the run too.")
@click.option("--strict", is_flag=True, help="Exit with 3 if anything is in quarantine.")
@click.option("--allow-empty", is_flag=True, help="No input, or no output, is fine.")
@click.option("--no-samples", is_flag=True, help="Show no records in the report.")
@click.option("--max-failures", metavar="N", help="Failures that end the run: 10, or 0.01 of all.")
@click.option(
    "--metrics",
    metavar="[PORT]",
    is_flag=False,
    flag_value="true",
    help="Serve metrics to Prometheus: at 9464 or the next free port, at PORT, or at HOST:PORT.",
)
@click.option("--logs", is_flag=True, help="Show what stages print in workers of a cluster.")
@click.option("--quiet", is_flag=True, help="Say nothing but what is wrong.")
@speaks
def run(screen: Screen, order: Order, **said: Any) -> None:
    """Run a recipe.

    Run it again to resume after Ctrl-C or a crash, or to process new input files: only what is
    left is done.
    """
    wishes = Wishes(**said)
    recipe = order.recipe(*wishes.settings())
    if recipe.workflow is not None:
        run_workflow(screen, recipe, wishes)
        return
    options = dict(recipe.run_options)
    if wishes.run_dir:
        options["run_dir"] = wishes.run_dir
    options |= {"removed_inputs": wishes.input_policy(), "shared": wishes.shared}
    pipeline = recipe.pipeline()
    pipeline.recipe = recipe_text(recipe)
    try:
        result = _run(pipeline, recipe.executor(), options, wishes)
    except BudgetError as error:
        if error.result is not None and not screen.as_json:  # JSON errors contain the result
            _tell(screen, recipe.name, error.result, wishes)
        raise
    _close(screen, recipe.name, result, wishes)
    if result.kept_nothing and not pipeline.allow_empty:
        raise click.exceptions.Exit(KEPT_NOTHING)


@dataclass(frozen=True)
class Wishes:
    """How to run, according to the command line."""

    run_dir: str | None = None
    no_resume: bool = False
    strict: bool = False
    allow_empty: bool = False
    no_samples: bool = False
    max_failures: str | None = None
    quiet: bool = False
    logs: bool = False
    metrics: str | None = None
    prune: bool = False
    yes: bool = False
    keep_removed: bool = False
    shared: bool = False

    def input_policy(self) -> "InputPolicy":
        """Return what to do with the output of removed input files."""
        from curator_core.run.input_changes import InputPolicy

        if self.prune and self.keep_removed:
            raise click.UsageError("--prune deletes what --keep-removed keeps; give one of them")
        if self.yes and not self.prune:
            raise click.UsageError("--yes confirms what --prune deletes; give both, or neither")
        if self.keep_removed:
            return InputPolicy("keep")
        return InputPolicy("prune" if self.prune else "stop", confirmed=self.yes or not self.prune)

    def settings(self) -> list[str]:
        """Return the options that a recipe could also have set, as `--set` arguments."""
        settings = []
        if self.no_resume:
            settings.append("run.resume=false")
        if self.allow_empty:
            settings.append("run.allow_empty=true")
        if self.no_samples:
            settings.append("run.samples=false")
        if self.max_failures is not None:
            settings.append(f"errors.max_failures={self.max_failures}")
        if self.metrics is not None:
            settings.append(f"run.metrics={self.metrics}")
        return settings


def run_workflow(screen: Screen, recipe: "Recipe", wishes: Wishes) -> None:
    """Run a workflow and show its result."""
    from curator_core.cli.concluding import show_workflow

    if recipe.workflow is None:
        raise PipelineError(f"{recipe.document.file}: there is no workflow")
    if wishes.run_dir:
        raise PipelineError("--run-dir: a workflow keeps its runs where its own options say")
    resume = recipe.run_options.get("resume", True) and not wishes.no_resume
    allow_empty = recipe.settings.get("allow_empty", False) or wishes.allow_empty
    workflow = recipe.workflow.workflow
    with _attended(wishes):
        result = workflow.run(
            recipe.executor(),
            resume=resume,
            allow_empty=allow_empty,
            removed_inputs=wishes.input_policy(),
            shared=wishes.shared,
        )
    show_workflow(screen, recipe.workflow, result, quiet=wishes.quiet)
    if wishes.strict and any(done.quarantined for done in result.runs.values()):
        raise click.exceptions.Exit(QUARANTINED)
    if workflow.final_run(result).kept_nothing and not allow_empty:
        raise click.exceptions.Exit(KEPT_NOTHING)


@click.command()
@click.argument("run", metavar="RUN")
@click.option("--strict", is_flag=True, help="Exit with 3 if anything is still in quarantine.")
@click.option(
    "--accept-changes",
    is_flag=True,
    help="Retry with stages that have changed since the run.",
)
@click.option("--logs", is_flag=True, help="Show what stages print in workers of a cluster.")
@click.option("--quiet", is_flag=True, help="Say nothing but what is wrong.")
@permitting
@speaks
def retry(
    screen: Screen, run: str, accept_changes: bool, permissions: "Permissions", **said: Any
) -> None:
    """Retry the quarantined tasks and records of a run.

    RUN is a run directory, or the output folder of a run. Fix the cause of the failures first.
    Whole tasks and single records start at the stage in which they failed. Tasks and records
    that succeed are added to the output; the others stay in quarantine.
    """
    from curator_core.cli.runs import find_run, pipeline_of
    from curator_core.reporting.directories import read_run
    from curator_core.reporting.figures import counted

    run_dir = find_run(run)
    pipeline, executor = pipeline_of(run_dir, permissions)
    found = read_run(run_dir, in_short=True).result
    tasks, records = _retryable_in(found)
    if not tasks + records:
        screen.give({"name": pipeline.name, "run_dir": run_dir, "tried_again": 0})
        damaged = sum(record.items for record in found.quarantined)
        mend = (
            f"; mend the files of {counted(damaged, 'damaged record')} and run the recipe again"
            if damaged
            else ""
        )
        screen.say(f"{pipeline.name}: there is nothing in quarantine that could be retried{mend}")
        return
    wishes = Wishes(**said)
    with _attended(wishes):
        result = pipeline.retry(run_dir, executor=executor, accept_changes=accept_changes)
    told = [counted(n, kind) for n, kind in ((tasks, "task"), (records, "record")) if n]
    left = sum(_retryable_in(result))
    headline = f"{pipeline.name}: {' and '.join(told)} tried again, {left} still in quarantine"
    _close(screen, pipeline.name, result, wishes, headline)


def _retryable_in(result: "RunResult") -> tuple[int, int]:
    """Count what can be retried: whole quarantined tasks, and records of other tasks."""
    found = [record for record in result.quarantined if record.can_be_retried]
    tasks = sum(record.whole_task for record in found)
    return tasks, sum(record.items for record in found if not record.whole_task)


def _run(
    pipeline: "Pipeline", executor: "Executor | None", options: dict[str, Any], wishes: Wishes
) -> "RunResult":
    """Run the pipeline without keeping its output tasks: no one would read them here."""
    with _attended(wishes):
        stream = pipeline.stream(executor, **options)
        try:
            with stream:
                for _ in stream:
                    pass
        finally:
            _write_page(stream.result)
        return stream.result


@contextmanager
def _attended(wishes: Wishes) -> Iterator[None]:
    """Log the run to stderr and show its progress; the summary replaces the closing line."""
    from curator_core.progress import Manner, manner
    from curator_core.run.worker_logs import SHOWN

    level = logging.WARNING if wishes.quiet else logging.INFO
    before = SHOWN.level
    SHOWN.setLevel(logging.DEBUG if wishes.logs else logging.NOTSET)
    try:
        with logged(level), manner(Manner(shown=not wishes.quiet, with_line=False)):
            yield
    finally:
        SHOWN.setLevel(before)


def _write_page(result: "RunResult") -> None:
    """Write the report page; if that fails, warn and leave the run as it is."""
    from curator_core.reporting import Summary
    from curator_core.reporting.pages import write_report
    from curator_core.run.directory import RunDirectory

    if result.run_dir is None or Summary("", result).is_repetition:
        return
    try:
        if RunDirectory(result.run_dir).facts() is not None:  # else it was deleted meanwhile
            write_report(result.run_dir)
    except Exception as error:  # noqa: BLE001 - a file system may raise anything
        note(f"the report could not be written: {error}")


def _close(
    screen: Screen, name: str, result: "RunResult", wishes: Wishes, headline: str = ""
) -> None:
    _tell(screen, name, result, wishes, headline)
    if wishes.strict and result.quarantined:
        raise click.exceptions.Exit(QUARANTINED)


def _tell(
    screen: Screen, name: str, result: "RunResult", wishes: Wishes, headline: str = ""
) -> None:
    from curator_core.reporting import Summary, print_summary
    from curator_core.reporting.pages import report_path

    report = report_path(result.run_dir) if result.run_dir else None
    screen.give({"name": name, **result.to_json(), "report": report})
    if not (screen.as_json or wishes.quiet):
        print_summary(screen.console, Summary(name, result, report, headline))
