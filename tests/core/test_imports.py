"""Importing core is cheap: heavy modules are imported where they are used."""

import pytest
from curator_core.testing import modules_loaded_by, seconds_to_run

HEAVY = [
    "ray",
    "torch",
    "pandas",
    "numpy",
    "pydantic",
    "rich",
    "click",
    "fsspec",
    "pytest",
    "pyarrow",
]


@pytest.fixture(scope="module")
def loaded() -> set[str]:
    return modules_loaded_by("import curator_core")


@pytest.mark.parametrize("module", HEAVY)
def test_core_does_not_load(module: str, loaded: set[str]) -> None:
    assert "curator_core" in loaded
    assert module not in loaded


def test_core_is_imported_quickly() -> None:
    assert seconds_to_run("import curator_core", repeats=7) <= 0.15


def test_every_exported_name_exists() -> None:
    import curator_core

    missing = [name for name in curator_core.__all__ if not hasattr(curator_core, name)]
    assert missing == []
    assert len(curator_core.__all__) == len(set(curator_core.__all__))
