"""Every stage with a minimum and a maximum refuses limits between which there is no number."""

from collections.abc import Iterator

import pytest
from curator_cli.recipes.options import options_of
from curator_cli.recipes.samples import sample_options
from curator_cli.recipes.steps import load_stage
from curator_core import Pipeline, PipelineError
from curator_core.plugins.registry import plugins


def stages_with_limits() -> Iterator[tuple[str, str, str]]:
    """Yield the names of stages with those of their options `min_x` and `max_x`."""
    for name in plugins().stages:
        found = load_stage(name, plugins())
        options = options_of(found).options if isinstance(found, type) else {}
        for low in options:
            high = f"max_{low.removeprefix('min_')}"
            if low.startswith("min_") and high in options:
                yield name, low, high


def test_a_minimum_above_the_maximum_is_a_problem_of_the_plan() -> None:
    limits = list(stages_with_limits())
    assert len(limits) > 10
    for name, low, high in limits:
        found = load_stage(name, plugins())
        options = options_of(found).options
        given = {k: v for k, v in sample_options(name, found).items() if options[k].required}
        stage = found(**{**given, low: 2, high: 1})
        with pytest.raises(PipelineError) as refused:
            Pipeline("limits", stages=[stage]).build(tasks=[])
        assert any("min_" in text and "max_" in text for text in refused.value.problems), name
