"""What users need by name is at the top level of its package, and costs nothing until then."""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, get_args

import pytest
from scriptkit import load_script

REPOSITORY = Path(__file__).parents[2]
PACKAGES = sorted(found.name for found in REPOSITORY.glob("packages/**/src/curator_*"))
HEAVY = {"ray", "torch", "transformers", "numpy", "pandas", "PIL", "av", "pydantic", "click"}


def _registered() -> Iterator[Any]:
    """Every stage, executor and workflow that one of our packages offers."""
    from curator_core.plugins.registry import plugins  # not installed where wheels are checked

    found = plugins()
    for catalog in (found.stages, found.executors, found.workflows):
        for name in catalog:
            if catalog.find(name).place.startswith("curator_"):
                yield catalog.load(name)


def _classes_in(annotation: Any) -> Iterator[type]:
    if isinstance(annotation, type) and annotation.__module__.startswith("curator_"):
        yield annotation
    for part in get_args(annotation):
        yield from _classes_in(part)


def test_what_is_registered_and_its_options_are_at_the_top_level() -> None:
    from curator_cli.recipes.options import options_of

    needed = {kind for kind in _registered() if isinstance(kind, type)}
    for kind in list(needed):
        for option in options_of(kind).options.values():
            needed.update(_classes_in(option.annotation))
    assert len(needed) > 100
    lacking = []
    for kind in needed:
        top = import_module(kind.__module__.partition(".")[0])
        if kind.__name__ not in top.__all__ or getattr(top, kind.__name__) is not kind:
            lacking.append(f"{kind.__module__}.{kind.__name__}")
    assert sorted(lacking) == []


@pytest.mark.parametrize("package", PACKAGES)
def test_every_name_at_the_top_level_is_there(package: str) -> None:
    top = import_module(package)
    assert len(set(top.__all__)) == len(top.__all__) > 0
    for name in top.__all__:
        assert getattr(top, name) is not None
    with pytest.raises(AttributeError):
        top.no_such_name  # noqa: B018


@pytest.mark.parametrize("package", PACKAGES)
def test_importing_a_package_loads_nothing_heavy(package: str) -> None:
    from curator_core.testing import modules_loaded_by

    assert not HEAVY & modules_loaded_by(f"import {package}")


def test_stubs_are_up_to_date() -> None:
    found = dict(load_script("package_stubs").stubs())
    assert len(found) >= 10
    outdated = [str(path) for path, text in found.items() if path.read_text() != text]
    assert not outdated, "hatch run generate"
