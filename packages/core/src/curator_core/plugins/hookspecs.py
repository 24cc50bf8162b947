"""The hooks of a plugin. Each returns names and where to import what they name.

A plugin is a module that an installed package names under the entry-point group `curator_core`:

    [project.entry-points.curator_core]
    shout = "curator_shout.plugin"

and `curator_shout/plugin.py` is no more than this:

    from curator_core.plugins.hookspecs import hookimpl

    @hookimpl
    def curator_stages() -> dict[str, str]:
        return {"shout.upper": "curator_shout.stages:Upper"}

The entry point's name (`shout`) begins every name that the plugin offers, so two plugins cannot
clash. Places are text, "module:attribute", so that nothing is imported before it is used.
"""

import pluggy

GROUP = "curator_core"

hookspec = pluggy.HookspecMarker(GROUP)
hookimpl = pluggy.HookimplMarker(GROUP)


@hookspec
def curator_stages() -> dict[str, str]:  # type: ignore[empty-body]
    """Stages, readers and writers among them: a class, or what `@processing_stage` makes."""


@hookspec
def curator_executors() -> dict[str, str]:  # type: ignore[empty-body]
    """Executor classes."""


@hookspec
def curator_workflows() -> dict[str, str]:  # type: ignore[empty-body]
    """Workflow classes: several pipelines, one after another.

    `shout.twice` is also the command `curate shout twice`, and `workflow: shout.twice` in a recipe.
    """


@hookspec
def curator_reports() -> dict[str, str]:  # type: ignore[empty-body]
    """Sections of a run's report: functions of the run and of how many bytes there is room for.

    They give a `curator_core.reporting.exhibits.Exhibit`, and are asked where stages of the same
    package were in the run. InputError says that there is nothing to show.
    """


@hookspec
def curator_commands() -> dict[str, str]:  # type: ignore[empty-body]
    """Commands of click: `shout.loudly` is `curate shout loudly`, and `curate shout.loudly`."""
