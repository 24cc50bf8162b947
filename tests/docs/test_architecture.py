"""The page about the architecture names code that exists."""

import re
from importlib import import_module
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
CORE = REPOSITORY / "packages/core/src/curator_core"
PAGE = (REPOSITORY / "docs/extending/architecture.md").read_text()
PLACES = sorted(set(re.findall(r"`(curator_core[\w.]*:[\w.]+)`", PAGE)))
FILES = sorted(set(re.findall(r"`((?:run|local|plan|execution)/\w+\.py)`", PAGE)))
METHODS = re.findall(r"`([A-Z]\w+)\.(\w+)`", PAGE)


@pytest.mark.parametrize("place", PLACES)
def test_named_places_exist(place: str) -> None:
    module, _, path = place.partition(":")
    found = import_module(module)
    for part in path.split("."):
        found = getattr(found, part)


@pytest.mark.parametrize("file", FILES)
def test_named_files_exist(file: str) -> None:
    assert (CORE / file).is_file()


def test_named_methods_exist() -> None:
    sources = [path.read_text() for path in REPOSITORY.glob("packages/*/src/**/*.py")]
    missing = {
        f"{owner}.{method}"
        for owner, method in METHODS
        if not any(f"class {owner}" in code and f"def {method}(" in code for code in sources)
    }
    assert not missing


def test_the_page_names_enough_to_be_worth_checking() -> None:
    assert len(PLACES) > 15
    assert len(FILES) > 4
    assert len(METHODS) > 10
