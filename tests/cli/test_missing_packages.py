"""A stage that needs an optional package says so when the pipeline is planned, not when it runs."""

from collections.abc import Iterator
from contextlib import suppress

import pytest
from curator_cli.recipes.options import options_of
from curator_cli.recipes.samples import sample_options, sample_stage
from curator_cli.recipes.steps import load_stage
from curator_core import AnyStage, NodeInfo, WorkerInfo, flatten
from curator_core.plugins.registry import plugins
from scriptkit import load_script

GALLERY = load_script("stage_gallery")


def variants(name: str) -> Iterator[tuple[str, AnyStage]]:
    """Yield a stage with sample options, and with each choice of each option that lists some."""
    found = load_stage(name, plugins())
    stage = sample_stage(name, found)
    assert stage is not None
    yield name, stage
    if not isinstance(found, type):
        return
    table = options_of(found).options
    required = {option for option, about in table.items() if about.required}
    given = {key: value for key, value in sample_options(name, found).items() if key in required}
    for option, about in table.items():
        for choice in about.choices:
            with suppress(Exception):  # it may need another option as well
                stage = found(**{**given, option: choice})
                flatten([stage])
                yield f"{name} with {option}={choice}", stage


def missing_at_setup(stage: AnyStage) -> list[str]:
    """Set up a stage and its parts; return the failures because of packages."""
    failures = []
    for part in (stage, *flatten([stage])):
        for set_up, given in ((part.setup_on_node, NodeInfo()), (part.setup, WorkerInfo())):
            try:
                set_up(given)  # type: ignore[operator]
            except Exception as error:  # noqa: BLE001 - only failures of packages count
                text = f"{type(error).__name__}: {error}"
                if isinstance(error, ImportError) or "pip install" in text:
                    failures.append(text)
        with suppress(Exception):
            part.teardown()
    return failures


@pytest.mark.parametrize("plugin", sorted({name.partition(".")[0] for name in plugins().stages}))
def test_missing_packages_are_problems_of_the_plan(
    plugin: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    names = [name for name in plugins().stages if name.partition(".")[0] == plugin]
    stages = [variant for name in names for variant in variants(name)]
    surprises = {}
    with GALLERY.sample_files(), GALLERY.without_warnings(), GALLERY.without_optional_packages():
        for name, stage in stages:
            failures = missing_at_setup(stage)
            if failures and not GALLERY.requirements(stage):
                surprises[name] = failures
    assert surprises == {}
