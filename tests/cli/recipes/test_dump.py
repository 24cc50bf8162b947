"""Pipelines survive being dumped as recipes and loaded again."""

from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import pytest
from curator_cli.recipes import pipeline_from_yaml, pipeline_to_yaml
from curator_core import DocumentBatch, Pipeline, ProcessingStage, Resources, processing_stage
from curator_core.errors import PipelineError
from curator_core.plugins.hookspecs import hookimpl
from curator_core.plugins.registry import Plugins
from hypothesis import given
from hypothesis import strategies as st

Batches = ProcessingStage[DocumentBatch, DocumentBatch]


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True)
class Span:
    low: int = 0
    high: int = 9


@dataclass
class Keep(Batches):
    size: int
    text: str = ""
    mode: Literal["a", "b"] = "a"
    path: Path | None = None
    words: tuple[str, ...] = ()
    spans: list[Span] = field(default_factory=list)
    colour: Colour = Colour.RED
    limit: int | float | None = 0.1
    extra: dict[str, Any] = field(default_factory=dict)
    rule: Any = None


TWO = Resources(cpus=2.0)


@dataclass
class Small(Batches):
    resources: Resources = TWO
    batch_size: int = 8


class Hidden(Batches):
    def __init__(self, size: int = 1) -> None:
        self._size = size


class Stranger(Batches):
    pass


@processing_stage(name="upper")
def upper(task: DocumentBatch) -> DocumentBatch:
    return task


def lower(task: DocumentBatch) -> DocumentBatch:
    return task


@pytest.fixture(scope="module")
def found() -> Plugins:
    names = ("Keep", "Small", "Hidden", "upper")
    places = {f"t.{name.lower()}": f"{__name__}:{name}" for name in names}
    made = Plugins()
    hook = hookimpl(lambda: places, specname="curator_stages")
    made.register("t", SimpleNamespace(curator_stages=hook))
    return made


def there_and_back(pipeline: Pipeline, found: Plugins) -> Pipeline:
    return pipeline_from_yaml(pipeline_to_yaml(pipeline, found), found)


def settings_of(stage: Any) -> tuple[Any, ...]:
    return (stage.name, stage.resources, stage.batch_size, stage.requested_workers, stage.on_error,
            stage.retries, stage.timeout_s, dict(stage.hints))  # fmt: skip


def test_defaults_are_left_out(found: Plugins) -> None:
    pipeline = Pipeline("small", stages=[Keep(3), Small(), upper])
    assert pipeline_to_yaml(pipeline, found) == (
        "name: small\n"
        "steps:\n"
        "- stage: t.keep\n"
        "  size: 3\n"
        "- t.small\n"
        "- t.upper\n"
    )  # fmt: skip


def test_every_kind_of_option_comes_back(found: Plugins) -> None:
    keep = Keep(
        3,
        text="no ${env:HOME}, $$${x} or: yes # really\n",
        mode="b",
        path=Path("a/b"),
        words=("on", "1", "é", "2020-01-01", "null", "1e3"),
        spans=[Span(), Span(high=3)],
        colour=Colour.BLUE,
        limit=1.0,
        extra={"deep": [1, {"x": None}], "on": True, "1": 2.5},
    )
    pipeline = Pipeline("x", "all of it: ${env:HOME}", [keep])
    assert there_and_back(pipeline, found) == pipeline


def test_changed_settings_come_back(found: Plugins) -> None:
    keep = Keep(1).with_(
        name="mine",
        resources=Resources(gpus=1.0, custom={"disk": 2.0}),
        batch_size=4,
        num_workers=3,
        on_error="fail",
        retries=0,
        timeout_s=1.5,
        hints={"streaming": {"min_workers": 2}},
    )
    stages = [keep, Small().with_(resources=Resources(), batch_size=1), upper.with_(retries=2)]
    back = there_and_back(Pipeline("x", stages=stages), found)
    assert [settings_of(stage) for stage in back.stages] == list(map(settings_of, stages))


def test_settings_of_the_pipeline_come_back(found: Plugins) -> None:
    pipeline = Pipeline(
        "x", "why", [Keep(1)], on_error="skip", retries=2, timeout_s=3.0, max_failures=5,
        allow_empty=True,
    )  # fmt: skip
    assert there_and_back(pipeline, found) == pipeline


def test_stages_of_one_kind_keep_their_names(found: Plugins) -> None:
    stages = [Keep(1), Keep(2).with_(name="again"), Keep(3).with_(name="keep-3")]
    text = pipeline_to_yaml(Pipeline("x", stages=stages), found)
    assert text.count("id:") == 2
    back = pipeline_from_yaml(text, found)
    assert [stage.name for stage in back.stages] == ["keep", "again", "keep-3"]


def test_all_stages_that_cannot_be_dumped_are_reported(found: Plugins) -> None:
    stages = [
        Stranger(),
        processing_stage(name="lower")(lower),
        Keep(1, rule=len),
        Hidden(2),
        Small().with_(runtime_env={"pip": ["x"]}),
        Small().with_(name="a/b"),
    ]
    with pytest.raises(PipelineError) as caught:
        pipeline_to_yaml(Pipeline("x", stages=stages), found)
    assert caught.value.problems == [
        f"stage 'stranger' cannot be written: no plugin offers {__name__}:Stranger; "
        "offer it with the hook curator_stages",
        "stage 'lower' cannot be written: no plugin offers "
        "curator_core.model.functions:FunctionStage; "
        "offer it with the hook curator_stages",
        "stage 'keep': option rule cannot be written: a builtin_function_or_method has no form "
        "in YAML",
        "stage 'hidden': option size cannot be written: the stage keeps it in no attribute of "
        "that name",
        "stage 'small': option runtime_env cannot be written: it can be given in Python only",
        "stage 'a/b': its name cannot be an id in a recipe: an id is text of at most 100 letters, "
        "digits, spaces, . : _ or -",
    ]


plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text("a${e:\n'\"#- é"),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abn-: "), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(
    st.text("ab${}env: \n\t#'\"-é\U0001f600", max_size=30), st.dictionaries(st.text("xy"), plain)
)
def test_any_text_and_any_data_come_back(text: str, extra: dict[str, Any]) -> None:
    found = Plugins()
    hook = hookimpl(lambda: {"t.keep": f"{__name__}:Keep"}, specname="curator_stages")
    found.register("t", SimpleNamespace(curator_stages=hook))
    pipeline = Pipeline("x", stages=[Keep(1, text=text, extra=extra)])
    assert there_and_back(pipeline, found) == pipeline
