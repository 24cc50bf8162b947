"""`curate run`: run a recipe, of a pipeline or of a workflow."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click
from curator_core.errors import BudgetError, PipelineError

from curator_cli.options import (
    RecipeArguments,
    on_recipe,
    recipe_text,
    with_executor_option,
    with_output,
)
from curator_cli.output import Screen, logged

if TYPE_CHECKING:
    from curator_core import Executor, Observer, Pipeline, RunResult
    from curator_core.run.input_changes import InputPolicy

    from curator_cli.recipes import Recipe

QUARANTINED = 3
KEPT_NOTHING = 6
"""Exit codes of runs that ended without an error but need attention."""


@click.command()
@on_recipe
@click.option(
    "--run-dir", metavar="PATH", help="Run directory; by default, it is in the output folder."
)
@click.option(
    "--no-resume",
    is_flag=True,
    help="Start over and replace earlier output.",
)
@click.option("--prune", is_flag=True, help="Delete the output of removed input; see --yes.")
@click.option("--yes", is_flag=True, help="With --prune, delete instead of listing.")
@click.option(
    "--keep", "--keep-removed", "keep_removed", is_flag=True,
    help="Keep the output of removed input.",
)  # fmt: skip
@click.option("--shared", is_flag=True, help="Let other users in your group resume the run.")
@click.option("--strict", is_flag=True, help="Exit with 3 if anything is in quarantine.")
@click.option("--allow-empty", is_flag=True, help="Allow runs without input or output.")
@click.option("--no-samples", is_flag=True, help="Do not show records in the report.")
@click.option("--no-fuse", is_flag=True, help="Do not merge stages that share work.")
@click.option(
    "--keep-intermediate", is_flag=True, help="Keep the files between steps and workflows."
)
@click.option(
    "--max-failures",
    metavar="N",
    help="Failures at which the run ends: a number (10) or a share (0.01).",
)
@click.option(
    "--metrics",
    metavar="[PORT]",
    is_flag=False,
    flag_value="true",
    help="Serve metrics to Prometheus: at 9464 or the next free port, at PORT, or at HOST:PORT.",
)
@click.option(
    "--dashboard", is_flag=True, help="Start Ray's dashboard on this machine, and show where it is."
)
@click.option("--logs", is_flag=True, help="Show what stages print on workers of a cluster.")
@click.option("--quiet", is_flag=True, help="Only print errors.")
@with_output
def run(screen: Screen, arguments: RecipeArguments, **options: Any) -> None:
    """Run a recipe.

    Run it again to resume after Ctrl-C or a crash, or to process new input files:
    finished work is skipped.
    """
    chosen = RunFlags(**options)
    recipe = arguments.recipe(*chosen.settings())
    if chosen.dashboard:
        recipe = with_executor_option(recipe, "dashboard", "true")
    if recipe.workflow is not None:
        run_workflow(screen, recipe, chosen)
        return
    options = dict(recipe.run_options)
    if chosen.run_dir:
        options["run_dir"] = chosen.run_dir
    options |= {"removed_inputs": chosen.input_policy(), "shared": chosen.shared}
    pipeline = recipe.pipeline()
    pipeline.recipe = recipe_text(recipe)
    try:
        result = _run(pipeline, recipe.executor(), options, chosen)
    except BudgetError as error:
        if error.result is not None and not screen.as_json:  # JSON errors contain the result
            _show_result(screen, recipe.name, error.result, chosen)
        raise
    close_run(screen, recipe.name, result, chosen)
    if result.kept_nothing and not pipeline.allow_empty:
        raise click.exceptions.Exit(KEPT_NOTHING)


@dataclass(frozen=True)
class RunFlags:
    """How to run, according to the command line."""

    run_dir: str | None = None
    no_resume: bool = False
    strict: bool = False
    allow_empty: bool = False
    no_samples: bool = False
    no_fuse: bool = False
    keep_intermediate: bool = False
    max_failures: str | None = None
    quiet: bool = False
    logs: bool = False
    metrics: str | None = None
    dashboard: bool = False
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
        if self.no_fuse:
            settings.append("run.fuse=false")
        if self.keep_intermediate:
            settings.append("run.keep_intermediate=true")
        if self.max_failures is not None:
            settings.append(f"errors.max_failures={self.max_failures}")
        if self.metrics is not None:
            settings.append(f"run.metrics={self.metrics}")
        return settings


def run_workflow(screen: Screen, recipe: "Recipe", chosen: RunFlags) -> None:
    """Run a workflow and show its result."""
    from curator_cli.commands.curation_output import show_curation
    from curator_cli.commands.workflow_output import show_workflow

    if recipe.curation is not None:
        recipe = _ready_curation(recipe, chosen)
    elif chosen.run_dir:
        raise PipelineError(
            "--run-dir: a workflow has no run directory; its own options set where it keeps files"
        )
    if recipe.workflow is None:
        raise PipelineError(f"{recipe.document.file}: the recipe has no workflow")
    resume = recipe.run_options.get("resume", True) and not chosen.no_resume
    allow_empty = recipe.settings.get("allow_empty", False) or chosen.allow_empty
    workflow = recipe.workflow.workflow
    with logged_run(chosen):
        result = workflow.run(
            recipe.executor(),
            resume=resume,
            allow_empty=allow_empty,
            removed_inputs=chosen.input_policy(),
            shared=chosen.shared,
            observers=displays(chosen),
            progress=False,
        )
    if recipe.curation is not None:
        show_curation(screen, recipe.curation, result, quiet=chosen.quiet)
    else:
        show_workflow(screen, recipe.workflow, result, quiet=chosen.quiet)
    if chosen.strict and any(done.quarantined for done in result.runs.values()):
        raise click.exceptions.Exit(QUARANTINED)
    if workflow.final_run(result).kept_nothing and not allow_empty:
        raise click.exceptions.Exit(KEPT_NOTHING)


def _ready_curation(recipe: "Recipe", chosen: RunFlags) -> "Recipe":
    """Apply --run-dir, and have the curation keep its recipe for reports."""
    from curator_cli.recipes import apply_settings

    if chosen.run_dir:
        recipe = apply_settings(recipe, [f"run.run_dir={chosen.run_dir}"])
    if recipe.curation is not None:
        recipe.curation.recipe = recipe_text(recipe, with_sources=False)
    return recipe


def _run(
    pipeline: "Pipeline", executor: "Executor | None", options: dict[str, Any], chosen: RunFlags
) -> "RunResult":
    """Run the pipeline without keeping its output tasks: no one would read them here."""
    from curator_report.metrics.server import PrometheusMetrics

    with logged_run(chosen):
        observers = displays(chosen)
        if options.get("metrics"):
            observers.append(PrometheusMetrics.at(options["metrics"]))
        options.pop("metrics", None)
        with pipeline.stream(executor, **options, observers=observers, progress=False) as stream:
            for _ in stream:
                pass
        return stream.result


def displays(chosen: RunFlags) -> "list[Observer]":
    """Return the observer that shows progress; the summary replaces its closing line."""
    from curator_report.terminal import transient_progress

    return [] if chosen.quiet else transient_progress()


@contextmanager
def logged_run(chosen: RunFlags) -> Iterator[None]:
    """Log the run to stderr."""
    from curator_core.run.worker_logs import SHOWN

    level = logging.WARNING if chosen.quiet else logging.INFO
    before = SHOWN.level
    SHOWN.setLevel(logging.DEBUG if chosen.logs else logging.NOTSET)
    try:
        with logged(level):
            yield
    finally:
        SHOWN.setLevel(before)


def close_run(
    screen: Screen, name: str, result: "RunResult", chosen: RunFlags, headline: str = ""
) -> None:
    _show_result(screen, name, result, chosen, headline)
    if chosen.strict and result.quarantined:
        raise click.exceptions.Exit(QUARANTINED)


def _show_result(
    screen: Screen, name: str, result: "RunResult", chosen: RunFlags, headline: str = ""
) -> None:
    from curator_report import Summary, print_summary
    from curator_report.page import report_path

    report = report_path(result.run_dir) if result.run_dir else None
    screen.print_json({"name": name, **result.to_json(), "report": report})
    if not (screen.as_json or chosen.quiet):
        print_summary(screen.console, Summary(name, result, report, headline))
