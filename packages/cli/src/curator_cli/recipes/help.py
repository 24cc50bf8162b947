"""Descriptions of stages and workflows, for help and documentation."""

from dataclasses import dataclass
from typing import Any

from curator_core import Resources
from curator_core.plugins.catalog import Offer
from curator_core.plugins.extras import missing_packages
from curator_core.plugins.groups import group_of
from curator_core.plugins.index import find_description
from curator_core.plugins.registry import Plugins
from curator_core.plugins.registry import plugins as installed_plugins

from curator_cli.recipes.options import Option, OptionTable, options_of, settings, with_docs
from curator_cli.recipes.samples import (
    columns_of,
    python_snippet,
    recipe_snippet,
    sample_options,
    sample_stage,
    workflow_snippet,
)
from curator_cli.recipes.steps import load_stage
from curator_cli.recipes.workflows import load_workflow, workflow_table


@dataclass(frozen=True)
class OptionHelp:
    """One option for display. The default is plain data, None if the option is required."""

    name: str
    type: str
    default: Any
    required: bool
    doc: str


@dataclass(frozen=True)
class ExtraHelp:
    """What to install besides a stage's package, and which packages of it are missing here."""

    requirement: str
    missing: tuple[str, ...]


@dataclass(frozen=True)
class StageHelp:
    """A stage for display. `settings` are the options that every stage has.

    `reads` and `adds` are its columns with example options.
    """

    name: str
    group: str
    doc: str
    distribution: str
    version: str
    place: str
    input_type: str
    output_type: str
    reads: tuple[str, ...]
    adds: tuple[str, ...]
    extras: tuple[ExtraHelp, ...]
    recipe: str
    python: str
    options: tuple[OptionHelp, ...]
    settings: tuple[OptionHelp, ...]


def stage_help(name: str, plugins: Plugins | None = None) -> StageHelp:
    """Describe a stage: what it does, its input and output types, and its options."""
    plugins = installed_plugins() if plugins is None else plugins
    found = load_stage(name, plugins)
    offer = plugins.stages.find(name)
    own = with_docs(options_of(found), found) if isinstance(found, type) else OptionTable()
    options = sample_options(offer.name, found)
    reads, adds = _columns(offer, found)
    return StageHelp(
        name=offer.name,
        group=group_of(offer.name).name,
        doc=doc_of(found),
        distribution=offer.distribution,
        version=offer.version,
        place=offer.place,
        input_type=found.input_type.__name__,
        output_type=found.output_type.__name__,
        reads=reads,
        adds=adds,
        extras=_extras(offer),
        recipe=recipe_snippet(offer.name, found, options),
        python=python_snippet(offer.place, options, is_class=isinstance(found, type)),
        options=tuple(_describe_option(option) for option in own.options.values()),
        settings=tuple(
            _describe_option(option, found) for name, option in settings().options.items()
            if name not in own.options
        ),
    )  # fmt: skip


@dataclass(frozen=True)
class WorkflowHelp:
    """A workflow for display."""

    name: str
    group: str
    doc: str
    distribution: str
    version: str
    place: str
    extras: tuple[ExtraHelp, ...]
    recipe: str
    python: str
    options: tuple[OptionHelp, ...]


def workflow_help(name: str, plugins: Plugins | None = None) -> WorkflowHelp:
    """Describe a workflow: what it does, and its options."""
    plugins = installed_plugins() if plugins is None else plugins
    found = load_workflow(name, plugins)
    table = with_docs(workflow_table(found), found)
    offer = plugins.workflows.find(name)
    options = sample_options(offer.name, found)
    required = {name: options[name] for name, option in table.options.items() if option.required}
    return WorkflowHelp(
        name=offer.name,
        group=group_of(offer.name).name,
        doc=doc_of(found),
        distribution=offer.distribution,
        version=offer.version,
        place=offer.place,
        extras=_extras(offer),
        recipe=workflow_snippet(offer.name, required, can_be_step=bool(found.step_options)),
        python=python_snippet(offer.place, required),
        options=tuple(_describe_option(option) for option in table.options.values()),
    )


def _columns(offer: Offer, found: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the columns that a stage reads and adds: from the index, or from an example."""
    described = find_description(offer.name, offer.place)
    if described is not None:
        return described.reads, described.adds
    sample = sample_stage(offer.name, found)
    return ((), ()) if sample is None else columns_of(sample)


def _extras(offer: Offer) -> tuple[ExtraHelp, ...]:
    """Return what else to install. Known for packages of this project only."""
    described = find_description(offer.name, offer.place)
    extras = () if described is None else described.extras
    return tuple(ExtraHelp(extra, tuple(missing_packages(extra))) for extra in extras)


def doc_of(found: Any) -> str:
    """Return a class's own docstring, but not the signature that a dataclass generates."""
    import inspect

    text = inspect.cleandoc(found.__doc__ or "")
    return "" if text.startswith(f"{getattr(found, '__name__', '')}(") else text


def _describe_option(option: Option, stage: Any = None) -> OptionHelp:
    """Describe an option; for a general setting, with the default of this stage."""
    default = None if option.required else option.default
    if stage is not None and option.name != "num_workers":
        default = getattr(stage, option.name, default)
    shown = option.shown(default)
    if isinstance(default, Resources):
        shown = default.asked
    return OptionHelp(option.name, option.type_name, shown, option.required, _one_line(option.doc))


def _one_line(text: str) -> str:
    """Join the lines of each paragraph; paragraphs stay apart."""
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))
