"""Write the index of stages that searches read, and the pages of stages in the docs.

`hatch run generate` runs this script. It needs all packages of this project, but not their extras.
"""

import logging
import re
import sys
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from dataclasses import replace
from functools import cache
from importlib.metadata import packages_distributions, requires
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from curator_cli.recipes.samples import SAMPLES, columns_of, sample_stage
from curator_cli.recipes.steps import load_stage
from curator_cli.stage_index import describe
from curator_core import AnyStage
from curator_core.model.stages import flatten
from curator_core.plugins.index import FILE, Description, index_text
from curator_core.plugins.registry import Plugins, plugins

REPOSITORY = Path(__file__).parents[1]
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


def main() -> None:
    text = index_text(make_index())
    if not FILE.exists() or FILE.read_text(encoding="utf-8") != text:
        FILE.write_text(text, encoding="utf-8")
        print(FILE.relative_to(REPOSITORY))


if __name__ == "__main__":
    main()
