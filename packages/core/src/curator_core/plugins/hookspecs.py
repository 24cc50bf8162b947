"""The hooks of a plugin. Each returns names and the places to import them from.

A plugin is a module that an installed package lists in the entry-point group `curator_core`:

    [project.entry-points.curator_core]
    shout = "curator_shout.plugin"

A complete `curator_shout/plugin.py`:

    from curator_core import hookimpl

    @hookimpl
    def curator_stages() -> dict[str, str]:
        return {"shout.upper": "curator_shout.stages:Upper"}

All names of a plugin begin with the name of its entry point (`shout`), so two plugins cannot clash.
Places are strings, "module:attribute", so that nothing is imported before it is used.
"""

import pluggy

GROUP = "curator_core"

hookspec = pluggy.HookspecMarker(GROUP)
hookimpl = pluggy.HookimplMarker(GROUP)


@hookspec
def curator_stages() -> dict[str, str]:  # type: ignore[empty-body]
    """Stages, including readers and writers: classes, or functions with `@processing_stage`."""


@hookspec
def curator_executors() -> dict[str, str]:  # type: ignore[empty-body]
    """Executor classes."""


@hookspec
def curator_workflows() -> dict[str, str]:  # type: ignore[empty-body]
    """Workflow classes: several pipelines that run one after another.

    `shout.twice` is also the command `curate shout twice`, and `workflow: shout.twice` in a recipe.
    """


@hookspec
def curator_report_sections() -> dict[str, str]:  # type: ignore[empty-body]
    """Sections of a run's report: functions of the run and of the number of bytes available.

    They return a `curator_report.sections.ReportSection`, and are called if the run has stages of
    the same package. They raise InputError if there is nothing to show.
    """


@hookspec
def curator_observers() -> dict[str, str]:  # type: ignore[empty-body]
    """Observers of runs: classes like `curator_core.Observer`, called without arguments."""


@hookspec
def curator_commands() -> dict[str, str]:  # type: ignore[empty-body]
    """Click commands: `shout.loudly` is run as `curate shout loudly` or `curate shout.loudly`."""
