"""Write the index of stages that searches read, and the pages of stages in the docs.

`hatch run generate` runs this script. It needs all packages of this project, but not their extras.
"""

import json
import logging
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager
from dataclasses import replace
from functools import cache
from importlib.metadata import packages_distributions, requires
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from curator_cli.recipes.help import (
    OptionHelp,
    StageHelp,
    WorkflowHelp,
    stage_help,
    workflow_help,
)
from curator_cli.recipes.samples import SAMPLES, columns_of, sample_stage
from curator_cli.recipes.steps import load_stage
from curator_cli.stage_index import describe
from curator_core import AnyStage
from curator_core.model.stages import flatten
from curator_core.plugins.groups import GROUPS, Group
from curator_core.plugins.index import FILE, Description, index_text
from curator_core.plugins.registry import Plugins, plugins

REPOSITORY = Path(__file__).parents[1]
DOCS = REPOSITORY / "docs" / "stages"
PLUGINS = ("core", "text", "dedup", "image", "video", "audio")


def make_index() -> dict[str, Description]:
    """Describe all stages and workflows of this project."""
    found = plugins()
    with sample_files(), without_warnings():
        stages = [_describe_stage(name, found) for name in found.stages if _is_ours(name)]
    workflows = [
        describe(offer, "workflow", found)
        for name, offer in found.workflows.items()
        if _is_ours(name)
    ]
    return {one.name: one for one in sorted([*stages, *workflows], key=lambda one: one.name)}


def _is_ours(name: str) -> bool:
    return name.partition(".")[0] in PLUGINS


def _describe_stage(name: str, found: Plugins) -> Description:
    stage = sample_stage(name, load_stage(name, found))
    described = describe(found.stages[name], "stage", found)
    if stage is None:
        return described
    reads, adds = columns_of(stage)
    with without_optional_packages():
        extras = requirements(stage)
    return replace(described, reads=reads, adds=adds, extras=tuple(extras))


def requirements(stage: AnyStage) -> list[str]:
    """Return what a stage tells to install."""
    problems = [problem for part in (stage, *flatten([stage])) for problem in part.check()]
    found = [re.findall(r"pip install '?([\w.-]+(?:\[[^\]]+\])?)", text) for text in problems]
    return list(dict.fromkeys(name for names in found for name in names))


@contextmanager
def sample_files() -> Iterator[None]:
    """Change to a folder with the files that samples of options name, all of them empty."""
    with TemporaryDirectory() as folder, chdir(folder):
        for value in SAMPLES.values():
            if isinstance(value, str) and re.fullmatch(r"owner/model|[\w.]+\.(json|gz|pt)", value):
                Path(value).parent.mkdir(exist_ok=True)
                Path(value).touch()
        yield


@contextmanager
def without_warnings() -> Iterator[None]:
    """Silence models that warn that there is no GPU."""
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)


@contextmanager
def without_optional_packages() -> Iterator[None]:
    """Hide the packages that only extras install."""
    with patch.dict(sys.modules, dict.fromkeys(optional_modules())):
        yield


@cache
def optional_modules() -> frozenset[str]:
    """Return the installed modules of packages that only extras install."""
    required: set[str] = set()
    optional: set[str] = set()
    for package in ("models", *PLUGINS):
        for line in requires(f"curator-{package}") or ():
            name = _normal(re.split(r"[^\w.-]", line, maxsplit=1)[0])
            (optional if "extra ==" in line else required).add(name)
    wanted = {name for name in optional - required if not name.startswith("curator-")}
    modules = packages_distributions().items()
    return frozenset(
        module for module, owners in modules if wanted & {_normal(owner) for owner in owners}
    )


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def make_pages(index: Mapping[str, Description]) -> dict[str, str]:
    """Return the pages of the docs, by name: an overview, and one for each group."""
    groups = [group for group in GROUPS if _in_group(index, group)]
    pages = {f"{group.name}.md": _group_page(group, _in_group(index, group)) for group in groups}
    return {"index.md": _overview(index, groups), **pages}


def _in_group(index: Mapping[str, Description], group: Group) -> list[Description]:
    return [one for one in index.values() if one.group is group]


def _overview(index: Mapping[str, Description], groups: Sequence[Group]) -> str:
    lines = [
        _GENERATED,
        "# Stages and workflows\n",
        "All stages and workflows of Curator's packages, by group. To search them by words, "
        "including those of\npackages that are not installed:\n",
        "```bash\ncurate stages --search language\n```\n",
        "`curate stages NAME` explains one, and shows whether what it needs is installed.\n",
    ]
    for group in groups:
        lines.append(f"## [{_title(group)}]({group.name}.md)\n\n{group.about}.\n")
        lines.append(_names(_in_group(index, group), f"{group.name}.md"))
    lines.append(
        "## Settings of every stage\n\nThe same for all stages, beside their own options.\n"
    )
    lines.append(_options_table(stage_help("core.jsonl_reader").settings))
    return "\n".join(lines)


def _group_page(group: Group, descriptions: Sequence[Description]) -> str:
    lines = [_GENERATED, f"# {_title(group)}\n\n{group.about}.\n", _names(descriptions, "")]
    lines += [_entry(description) for description in descriptions]
    return "\n".join(lines)


_GENERATED = "<!-- Generated by scripts/stage_gallery.py: run `hatch run generate`. -->\n"


def _title(group: Group) -> str:
    return group.name.capitalize()


def _names(descriptions: Sequence[Description], page: str) -> str:
    """Return a table of names, linked to their entries on `page`."""
    rows = ["| name | what it does |", "|---|---|"]
    for one in descriptions:
        anchor = re.sub(r"[^\w-]", "", one.name)
        kind = " (workflow)" if one.kind == "workflow" else ""
        rows.append(f"| [`{one.name}`]({page}#{anchor}) | {_cell(one.summary)}{kind} |")
    return "\n".join(rows) + "\n"


def _entry(description: Description) -> str:
    """Return the section about a stage or workflow."""
    found: StageHelp | WorkflowHelp
    if description.kind == "workflow":
        found = workflow_help(description.name)
        facts = [_shell(found)]
    else:
        found = stage_help(description.name)
        facts = [
            f"Takes `{found.input_type}`{_columns('reads', description.reads)}",
            f"Returns `{found.output_type}`{_columns('adds', description.adds)}",
        ]
    facts.append(f"Python: `{found.python.splitlines()[0]}`")
    package = f"Package: `{description.distribution}`"
    needs = [f"Needs `pip install '{extra}'`" for extra in description.extras]
    listed = "".join(f"- {fact}\n" for fact in (package, *needs, *facts))
    options = _options_table(found.options) if found.options else "It has no options.\n"
    recipe = f"```yaml\n{found.recipe}\n```\n"
    return "\n".join([f"## {description.name}\n", f"{found.doc}\n", listed, recipe, options])


def _shell(found: WorkflowHelp) -> str:
    plugin, _, short = found.name.partition(".")
    required = [option.name.upper() for option in found.options if option.required]
    return f"Shell: `{' '.join(['curate', plugin, short.replace('_', '-'), *required])}`"


def _columns(verb: str, names: Sequence[str]) -> str:
    return f", {verb} {', '.join(f'`{name}`' for name in names)}" if names else ""


def _options_table(options: Sequence[OptionHelp]) -> str:
    rows = ["| option | type | default | what it does |", "|---|---|---|---|"]
    for option in options:
        default = "required" if option.required else f"`{_cell(json.dumps(option.default))}`"
        cells = (f"`{option.name}`", f"`{_cell(option.type)}`", default, _cell(option.doc))
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows) + "\n"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def outputs() -> dict[Path, str]:
    """Return every generated file with the text that it should have."""
    index = make_index()
    pages = {DOCS / name: text for name, text in make_pages(index).items()}
    return {FILE: index_text(index), **pages}


def main() -> None:
    DOCS.mkdir(exist_ok=True)
    for file, text in outputs().items():
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")
            print(file.relative_to(REPOSITORY))


if __name__ == "__main__":
    main()
