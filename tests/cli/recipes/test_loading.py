"""Recipes: the pipelines that they describe, and the message for each mistake in one."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, Literal

import pytest
from curator_cli.recipes import Recipe, apply_settings, load_recipe, stage_help
from curator_cli.recipes.parsing import parse_value
from curator_core import (
    CompositeStage,
    DocumentBatch,
    Executor,
    FileGroup,
    Pipeline,
    ProcessingStage,
    Resources,
    processing_stage,
)
from curator_core.errors import InputError, PipelineError
from curator_core.plugins.hookspecs import hookimpl
from curator_core.plugins.registry import BrokenPlugin, Plugins
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Discriminator

Batches = ProcessingStage[DocumentBatch, DocumentBatch]


@dataclass(frozen=True)
class Range:
    low: int = 0
    high: int = 9

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise ValueError(f"low is {self.low}, but high is {self.high}")


@dataclass
class Everything(Batches):
    """Has an option of every kind."""

    size: int
    """How large it is."""
    mode: Literal["fast", "exact"] = "fast"
    share: float = field(default=0.5, metadata={"doc": "Between 0 and 1."})
    path: Path | None = None
    names: list[str] = field(default_factory=list)
    either: int | str = 0
    span: Range = field(default_factory=Range)
    spans: tuple[Range, ...] = ()
    extra: dict[str, Any] | None = None
    rule: Callable[[str], bool] | None = None
    schema: str = ""

    def __post_init__(self) -> None:
        if self.size > 1000:
            raise ValueError(f"size is {self.size}, but must be at most 1000")


@dataclass
class Plain(Batches):
    pass


class ByHand(Batches):
    """Has its own __init__."""

    def __init__(self, words: list[str], *, limit: int = 3) -> None:
        self.words = words
        self.limit = limit


@dataclass
class Batched(Batches):
    batch_size: int = 32
    """Counts as its own option, although every stage has a setting of that name."""


@dataclass
class Reader(CompositeStage[FileGroup, DocumentBatch]):
    file_paths: str | list[str]

    def decompose(self) -> list[Any]:
        return [Plain()]


@processing_stage(name="upper", batch_size=2)
def upper(task: DocumentBatch) -> DocumentBatch:
    return task


@dataclass
class Line(Executor):
    workers: int = 1
    runtime_env: dict[str, Any] | None = None

    def execute(self, plan: Any, run: Any) -> Any:
        return iter(())


def offering(stages: Iterable[str], executors: Iterable[str] = ()) -> SimpleNamespace:
    places = [
        {f"t.{name.lower()}": f"{__name__}:{name}" for name in names}
        for names in (stages, executors)
    ]
    return SimpleNamespace(
        curator_stages=hookimpl(lambda: places[0], specname="curator_stages"),
        curator_executors=hookimpl(lambda: places[1], specname="curator_executors"),
    )


STAGES = ("Everything", "Plain", "ByHand", "Batched", "Reader", "upper", "Range")


@pytest.fixture(scope="module")
def found() -> Plugins:
    made = Plugins()
    made.register("t", offering(STAGES, ["Line"]), "acme-t", "1.2")
    return made


def steps(*lines: str) -> str:
    return "\n".join(["name: demo", "steps:", *lines]) + "\n"


def problems(text: str, found: Plugins, settings: Iterable[str] = ()) -> list[str]:
    with pytest.raises(PipelineError) as caught:
        load_recipe(text, settings, plugins=found)
    return caught.value.problems


# What a recipe makes

FULL = """
name: web-clean
description: Keeps what is worth keeping.
executor: {name: line, workers: 2}
input: {stage: t.reader, file_paths: data/*.jsonl}
steps:
  - t.plain
  - stage: t.everything
    id: all
    size: 20
    mode: exact
    share: 1
    path: models/x.bin
    names: [a, b]
    either: text
    span: {low: 2}
    spans: [{high: 3}, {low: 1}]
    extra: {deep: [1, {er: null}]}
    schema: s
    resources: {cpus: 2, custom: {disk: 1}}
    on_error: fail
    retries: 2
    timeout_s: 60
    batch_size: 4
    num_workers: 2
    hints: {streaming: {min_workers: 1}}
  - t.plain
output: {stage: t.batched, id: out, batch_size: 8}
errors: {on_error: skip, retries: 1, timeout_s: null, max_failures: 0.01}
run: {run_dir: here, resume: false, allow_empty: true}
"""


@pytest.fixture
def full(found: Plugins) -> Recipe:
    return load_recipe(FULL, plugins=found)


def test_a_recipe_becomes_a_pipeline(full: Recipe) -> None:
    pipeline = full.pipeline()
    assert isinstance(pipeline, Pipeline)
    assert (pipeline.name, pipeline.description) == ("web-clean", "Keeps what is worth keeping.")
    assert [stage.name for stage in pipeline.stages] == ["reader", "plain", "all", "plain-2", "out"]
    assert (pipeline.on_error, pipeline.retries, pipeline.timeout_s) == ("skip", 1, None)
    assert (pipeline.max_failures, pipeline.allow_empty) == (0.01, True)
    assert full.run_options == {"run_dir": "here", "resume": False}


def test_options_have_their_own_types(full: Recipe) -> None:
    stage = full.stages[2]
    assert isinstance(stage, Everything)
    assert (stage.size, stage.mode, stage.share, stage.either) == (20, "exact", 1.0, "text")
    assert isinstance(stage.share, float)
    assert stage.path == Path("models/x.bin")
    assert stage.names == ["a", "b"]
    assert (stage.span, stage.spans) == (Range(2, 9), (Range(0, 3), Range(1, 9)))
    assert stage.extra == {"deep": [1, {"er": None}]}
    assert stage.schema == "s"


def test_settings_of_a_step_reach_its_stage(full: Recipe) -> None:
    stage = full.stages[2]
    assert stage.resources == Resources(cpus=2.0, custom={"disk": 1.0})
    assert (stage.on_error, stage.retries, stage.timeout_s) == ("fail", 2, 60)
    assert (stage.batch_size, stage.requested_workers) == (4, 2)
    assert stage.hints == {"streaming": {"min_workers": 1}}


def test_an_option_that_is_named_like_a_setting_stays_an_option(full: Recipe) -> None:
    assert full.stages[4] == Batched(batch_size=8)
    assert full.stages[4].batch_size == 8


@dataclass
class Configured(Line):
    config: dict[str, Any] | None = None


def test_keys_beside_the_name_of_an_executor_go_into_its_config(found: Plugins) -> None:
    executor = "executor: {name: line, workers: 2, slots: 3, config: {depth: 4}}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(found.executors, "load", lambda name: Configured)
        recipe = load_recipe(steps("- t.plain", executor), plugins=found)
    assert recipe.executor() == Configured(workers=2, config={"slots": 3, "depth": 4})


def test_the_executor_is_made_with_its_options(full: Recipe, found: Plugins) -> None:
    assert full.executor() == Line(workers=2)
    assert load_recipe(steps("- t.plain"), plugins=found).executor() is None
    assert (
        load_recipe(steps("- t.plain", "", "executor: t.line"), plugins=found).executor() == Line()
    )


def test_stages_with_an_init_of_their_own_and_of_functions(found: Plugins) -> None:
    recipe = load_recipe(
        steps("- {stage: t.byhand, words: [a], limit: 5}", "- {stage: t.upper, retries: 1}"),
        plugins=found,
    )
    [by_hand, made] = recipe.stages
    assert isinstance(by_hand, ByHand)
    assert (by_hand.words, by_hand.limit) == (["a"], 5)
    assert (made.name, made.batch_size, made.retries) == ("upper", 2, 1)
    assert upper.retries is None


def test_a_file_is_read_and_names_the_recipe(found: Plugins, tmp_path: Path) -> None:
    path = tmp_path / "small.yaml"
    path.write_text("steps: [t.plain]")
    assert load_recipe(path, plugins=found).name == "small"
    assert load_recipe(str(path), plugins=found).pipeline().name == "small"
    path.write_text("steps: [t.plian]")
    with pytest.raises(PipelineError, match=r"small.yaml:1: no stage named 't.plian' \(did you"):
        load_recipe(path, plugins=found)


def test_a_missing_file(tmp_path: Path, found: Plugins) -> None:
    (tmp_path / "clean.yaml").write_text("steps: [t.plain]")
    with pytest.raises(
        InputError,
        match=r"recipe '.*claen.yaml' cannot be read: No such file or directory "
        r"\(did you mean .*/clean.yaml\?\)",
    ):
        load_recipe(tmp_path / "claen.yaml", plugins=found)


def test_a_recipe_of_what_core_offers(tmp_path: Path) -> None:
    recipe = load_recipe(
        f"input: {{stage: core.jsonl_reader, file_paths: '{tmp_path}/*.jsonl'}}\n"
        f"output: {{stage: core.parquet_writer, path: '{tmp_path}/out'}}\n"
        "executor: {name: local, workers: 0}\n"
    )
    (tmp_path / "a.jsonl").write_text('{"text": "one"}\n{"text": "two"}\n')
    pipeline = recipe.pipeline()
    assert Pipeline.from_yaml(pipeline.to_yaml()) == pipeline
    result = pipeline.run(recipe.executor(), run_dir=str(tmp_path / "run"))
    assert result.status == "done"
    assert result.stages["parquet_writer"].items_in == 2


# What can be wrong

TYPOS = {
    "stage": (
        ["- t.plain", "- t.everythin"],
        "<recipe>:4: no stage named 't.everythin' (did you mean t.everything?)",
    ),
    "bare stage": (
        ["- plain"],
        "<recipe>:3: no stage named 'plain' (did you mean t.plain?)",
    ),
    "option": (
        ["- stage: t.everything", "  size: 3", "  mdoe: fast"],
        "<recipe>:5: step 'everything' (t.everything): no option named 'mdoe' (did you mean mode?)",
    ),
    "nested option": (
        ["- stage: t.everything", "  size: 3", "  span:", "    hihg: 3"],
        "<recipe>:6: step 'everything' (t.everything): no option named 'hihg' in span "
        "(did you mean high?)",
    ),
    "option in a list": (
        ["- stage: t.everything", "  size: 3", "  spans:", "  - low: 1", "  - lwo: 1"],
        "<recipe>:7: step 'everything' (t.everything): no option named 'lwo' in spans[1] "
        "(did you mean low?)",
    ),
    "setting": (
        ["- stage: t.plain", "  retrys: 3"],
        "<recipe>:4: step 'plain' (t.plain): no option named 'retrys' (did you mean retries?)",
    ),
    "resource": (
        ["- stage: t.plain", "  resources: {cpu: 3}"],
        "<recipe>:4: step 'plain' (t.plain): no option named 'cpu' in resources "
        "(did you mean cpus?)",
    ),
    "choice": (
        ["- {stage: t.everything, size: 3,", "   mode: fsat}"],
        "<recipe>:4: step 'everything' (t.everything): option mode must be 'fast' or 'exact', "
        "but is 'fsat' (did you mean fast?)",
    ),
    "number": (
        ["- stage: t.everything", "  size: abc"],
        "<recipe>:4: step 'everything' (t.everything): option size must be a whole number, "
        "but is 'abc'",
    ),
    "true for a number": (
        ["- stage: t.everything", "  size: yes"],
        "<recipe>:4: step 'everything' (t.everything): option size must be a whole number, "
        "but is true",
    ),
    "exponent": (
        ["- stage: t.everything", "  size: 3", "  share: 1e-3"],
        "<recipe>:5: step 'everything' (t.everything): option share must be a number, but is "
        "'1e-3' (YAML takes that for text; write it with a point, as 1.0e-3)",
    ),
    "text": (
        ["- stage: t.everything", "  size: 3", "  schema: no"],
        "<recipe>:5: step 'everything' (t.everything): option schema must be text, but is false "
        "(quotes make it text)",
    ),
    "union": (
        ["- stage: t.everything", "  size: 3", "  either: [1]"],
        "<recipe>:5: step 'everything' (t.everything): option either must be a whole number or "
        "text, but is a list",
    ),
    "item of a list": (
        ["- stage: t.everything", "  size: 3", "  names:", "  - a", "  - 7"],
        "<recipe>:7: step 'everything' (t.everything): option names[1] must be text, but is 7 "
        "(quotes make it text)",
    ),
    "missing": (
        ["- t.plain", "- stage: t.everything", "  mode: fast"],
        "<recipe>:4: step 'everything' (t.everything): option size is missing, and has no default",
    ),
    "own check": (
        ["- stage: t.everything", "  size: 5000"],
        "<recipe>:3: step 'everything' (t.everything): size is 5000, but must be at most 1000",
    ),
    "own check inside": (
        ["- stage: t.everything", "  size: 3", "  span: {low: 12}"],
        "<recipe>:5: step 'everything' (t.everything): option span: low is 12, but high is 9",
    ),
    "negative resources": (
        ["- stage: t.plain", "  resources: {cpus: -1}"],
        "<recipe>:4: step 'plain' (t.plain): option resources: resources: cpus is -1.0, "
        "but must be 0 or more",
    ),
    "bounds": (
        ["- stage: t.plain", "  batch_size: 0"],
        "<recipe>:4: step 'plain' (t.plain): option batch_size must be greater than or equal "
        "to 1, but is 0",
    ),
    "only in Python": (
        ["- stage: t.everything", "  size: 3", "  rule: os.system"],
        "<recipe>:5: step 'everything' (t.everything): option rule can be given in Python only, "
        "not in a recipe",
    ),
    "option of an __init__": (
        ["- stage: t.byhand", "  words: [a]", "  limt: 3"],
        "<recipe>:5: step 'byhand' (t.byhand): no option named 'limt' (did you mean limit?)",
    ),
    "option of a function": (
        ["- stage: t.upper", "  batchsize: 3"],
        "<recipe>:4: step 'upper' (t.upper): no option named 'batchsize' "
        "(did you mean batch_size?)",
    ),
    "no stage": (
        ["- stge: t.plain", "  retries: 1"],
        "<recipe>:3: a step needs `stage:`; is 'stge' meant to be that?",
    ),
    "stage as a key": (
        ["- t.everything:", "    size: 3"],
        "<recipe>:3: a step is written as {stage: t.everything, …}, with its options beside "
        "`stage`",
    ),
    "step of another kind": (
        ["- 7"],
        "<recipe>:3: key steps[0] must be text or a mapping, but is 7",
    ),
    "no class of stages": (
        ["- t.range"],
        f"<recipe>:3: step 'range' (t.range): 't.range' is offered as a stage, "
        f"but {__name__}:Range is none",
    ),
    "the same id": (
        ["- {stage: t.plain, id: a}", "- {stage: t.plain, id: a}"],
        "<recipe>:4: the id 'a' belongs to another step already",
    ),
    "an id that is a path": (
        ["- {stage: t.plain, id: ../a}"],
        "<recipe>:3: an id is text of at most 100 letters, digits, spaces, . : _ or -",
    ),
    "section": (
        ["- t.plain", "erors: {retries: 1}"],
        "<recipe>:4: no key named 'erors' (did you mean errors?)",
    ),
    "errors": (
        ["- t.plain", "errors:", "  retires: 1"],
        "<recipe>:5: errors: no option named 'retires' (did you mean retries?)",
    ),
    "on_error": (
        ["- t.plain", "errors:", "  on_error: quarentine"],
        "<recipe>:5: errors: option on_error must be 'fail', 'quarantine' or 'skip', "
        "but is 'quarentine' (did you mean quarantine?)",
    ),
    "max_failures": (
        ["- t.plain", "errors: {max_failures: 1.5}"],
        "<recipe>:4: errors: option max_failures must be a whole number or less than or equal "
        "to 1, but is 1.5",
    ),
    "run": (
        ["- t.plain", "run: {resum: true}"],
        "<recipe>:4: run: no option named 'resum' (did you mean resume?)",
    ),
    "run as text": (
        ["- t.plain", "run: fast"],
        "<recipe>:4: key run must be a mapping, but is 'fast'",
    ),
    "executor": (
        ["- t.plain", "executor: lien"],
        "<recipe>:4: no executor named 'lien' (did you mean t.line?)",
    ),
    "option of the executor": (
        ["- t.plain", "executor:", "  name: line", "  worker: 2"],
        "<recipe>:6: executor 'line': no option named 'worker' (did you mean workers?)",
    ),
    "executor without a name": (
        ["- t.plain", "executor: {workers: 2}"],
        "<recipe>:4: executor: `name:` must say which executor, as text",
    ),
    "key twice": (
        ["- stage: t.everything", "  size: 3", "  size: 4"],
        "<recipe>:5: 'size' stands here a second time; see line 4",
    ),
    "no steps": (
        [],
        "<recipe>:2: key steps must be a list, but is null",
    ),
    "environment": (
        ["- stage: t.everything", "  size: 3", "  schema: a ${env:NO_SUCH_VARIABLE_7}"],
        "<recipe>:5: the environment variable 'NO_SUCH_VARIABLE_7' is not set",
    ),
    "kind of reference": (
        ["- stage: t.everything", "  size: 3", "  schema: ${evn:HOME}"],
        "<recipe>:5: '${evn:HOME}' is neither ${env:NAME} nor ${secret:NAME} (did you mean env?); "
        "write $${ where you mean these two characters",
    ),
    "open reference": (
        ["- stage: t.everything", "  size: 3", "  schema: ${env:HOME"],
        "<recipe>:5: '${env:HOME' is not closed; write $${ where you mean these two characters",
    ),
    "number from the environment": (
        ["- stage: t.everything", "  size: ${env:HOME}"],
        "<recipe>:4: step 'everything' (t.everything): option size must be a whole number, but is "
        "'${env:HOME}' (environment variables are text)",
    ),
}


@pytest.mark.parametrize("kind", TYPOS)
def test_each_mistake_is_reported_with_its_line(
    kind: str, found: Plugins, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CURATOR_RECIPE_ENV", "HOME")
    lines, message = TYPOS[kind]
    assert problems(steps(*lines), found) == [message]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\n", "<recipe>:1: the recipe is empty"),
        ("# nothing\n", "<recipe>:1: the recipe is empty"),
        ("- a\n", "<recipe>:1: a recipe is a mapping that begins with `name:` and has `steps:`"),
        ("name: x\n", "<recipe>:1: a recipe needs at least one stage, under `steps:`"),
        ("name: x\nsteps: []\n", "<recipe>:1: a recipe needs at least one stage, under `steps:`"),
        ("name: x\nsteps: [\n", "<recipe>:3: invalid YAML: while parsing a flow node"),
        (
            "name: x\n\tsteps: 1\n",
            "<recipe>:2: a tab stands here, but YAML is indented with",
        ),
        ("name: x\nid:1\nsteps: []\n", "<recipe>:2: 'id:1' has no colon followed by a space"),
        ("name: x\nsteps: *.jsonl\n", "<recipe>:2: a value that begins with * needs quotes"),
        ("name: x\nsteps: **\n", "<recipe>:2: a value that begins with * needs quotes"),
        ("name: @x\n", "<recipe>:1: a value that begins with @ needs quotes"),
        ("name: x: y\n", "<recipe>:1: a value with a colon and a space in it needs quotes"),
        ("steps:\n  - a: 1\n   b: 2\n", "<recipe>:3: this is not indented like the lines above"),
        ('name: "x\nsteps: []\n', "<recipe>:1: a quote that begins here is never closed"),
        ("steps: [a, b\n", "<recipe>:2: a bracket above is never closed"),
        ("name: x\nsteps: \x01\n", "<recipe>:2: invalid YAML: special characters"),
        ("name: x\n---\nname: y\n", "<recipe>:2: invalid YAML: expected a single docu"),
        ("name: x\nsteps: *nobody\n", "<recipe>:2: invalid YAML: found undefined alias"),
    ],
)
def test_text_that_is_not_a_recipe(text: str, message: str, found: Plugins) -> None:
    [problem] = problems(text, found)
    assert problem.startswith(message)


def test_all_problems_are_reported_at_once_in_the_order_of_the_lines(found: Plugins) -> None:
    text = steps(
        "- stage: t.everything",
        "  sise: 3",
        "  mode: quick",
        "- t.plian",
        "- stage: t.plain",
        "  retries: -1",
        "errors: {on_error: no}",
        "executor: nowhere",
    )
    lines = [problem.split(":")[1] for problem in problems(text, found)]
    assert lines == ["3", "4", "5", "6", "8", "9", "10"]


def test_thousands_of_problems_are_not_all_shown(found: Plugins) -> None:
    help_ = problems(steps(*["- t.nothing"] * 500), found)
    assert len(help_) == 101
    assert help_[-1] == "and 400 more problems"


def test_a_stage_of_a_broken_plugin_names_the_cause() -> None:
    found = Plugins()
    found.broken.append(BrokenPlugin("acme", "acme-stages", "0.3", "ImportError: no licence"))
    [problem] = problems(steps("- acme.upper"), found)
    assert problem == (
        "<recipe>:3: no stage named 'acme.upper' (none is known); plugin 'acme' of acme-stages 0.3 "
        "is disabled: ImportError: no licence"
    )


def test_a_file_of_another_encoding(tmp_path: Path, found: Plugins) -> None:
    path = tmp_path / "latin.yaml"
    path.write_bytes("name: x\n# caf\xe9\n".encode("latin-1"))
    with pytest.raises(PipelineError, match=r"latin.yaml:2: a recipe is UTF-8 text"):
        load_recipe(path, plugins=found)


# Environment variables


def test_the_environment_is_put_into_texts(found: Plugins, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLACE", "over/there")
    monkeypatch.setenv("CURATOR_RECIPE_ENV", "PLACE")
    text = steps(
        "- stage: t.everything",
        "  size: 1",
        "  path: ${env:PLACE}/x",
        "  schema: $${env:PLACE} costs $5",
        "  extra: {a: ['${env:PLACE}${env:PLACE}']}",
        "description: from ${env:PLACE}",
    )
    recipe = load_recipe(text, plugins=found)
    [stage] = recipe.stages
    assert isinstance(stage, Everything)
    assert stage.path == Path("over/there/x")
    assert stage.schema == "${env:PLACE} costs $5"
    assert stage.extra == {"a": ["over/thereover/there"]}
    assert recipe.description == "from over/there"


def test_a_misspelt_variable(found: Plugins, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CURATOR_TEST_PLACE", "x")
    text = steps("- {stage: t.everything, size: 1, schema: '${env:CURATOR_TEST_PLAEC}'}")
    assert problems(text, found) == [
        "<recipe>:3: the environment variable 'CURATOR_TEST_PLAEC' is not set "
        "(did you mean CURATOR_TEST_PLACE?)"
    ]


# Settings from outside


def test_settings_change_single_options(full: Recipe) -> None:
    changed = apply_settings(
        full,
        [
            "steps.all.size=30",
            "steps.all.names=[x, 'y z']",
            "steps.all.span.high=7",
            "steps.all.extra.deep=null",
            "steps.plain-2.retries=4",
            "steps.plain.resources.cpus=0.5",
            "steps.out.batch_size=16",
            "input.file_paths=a=b/*.jsonl",
            "output.timeout_s=1.5",
            "executor.workers=7",
            "errors.max_failures=3",
            "run.run_dir=there",
            "name=other",
        ],
    )
    reader, plain, everything, second, out = changed.stages
    assert isinstance(everything, Everything)
    assert (everything.size, everything.names) == (30, ["x", "y z"])
    assert (everything.span, everything.extra) == (Range(2, 7), {"deep": None})
    assert (plain.resources.cpus, second.retries) == (0.5, 4)
    assert (out.batch_size, out.timeout_s) == (16, 1.5)
    assert isinstance(reader, Reader)
    assert reader.file_paths == "a=b/*.jsonl"
    assert changed.executor() == Line(workers=7)
    assert (changed.settings["max_failures"], changed.run_options["run_dir"]) == (3, "there")
    assert changed.name == "other"
    assert full.name == "web-clean"
    assert isinstance(full.stages[2], Everything)
    assert full.stages[2].size == 20


def test_settings_may_give_what_the_recipe_leaves_out(found: Plugins) -> None:
    text = steps("- t.everything")
    [stage] = load_recipe(text, ["steps.everything.size=4"], plugins=found).stages
    assert isinstance(stage, Everything)
    assert stage.size == 4
    recipe = load_recipe(steps("- t.plain", "executor: nowhere"), ["executor=line"], plugins=found)
    assert recipe.executor() == Line()
    recipe = load_recipe(
        steps("- t.plain", "executor: line"), ["executor.workers=4"], plugins=found
    )
    assert recipe.executor() == Line(4)


def test_all_settings_without_a_target_are_reported(full: Recipe) -> None:
    wrong = ["steps.al.size=1", "stesp.all.size=1", "steps.all=1", "steps=1", "size", "input=1",
             "steps.all..size=1", "steps.all.size.x=1"]  # fmt: skip
    with pytest.raises(PipelineError) as caught:
        apply_settings(full, wrong)
    assert caught.value.problems == [
        "--set steps.al.size: no step named 'al' (did you mean all?)",
        "--set stesp.all.size: no section named 'stesp' (did you mean steps?)",
        "--set steps.all: name the option, too",
        "--set steps: write steps.<id>.<option>",
        "--set size: write it as steps.<id>.<option>=<value>",
        "--set input: name the option, too",
        "--set steps.all..size: there is nothing between two of its dots",
        "--set steps.all.size.x: steps.1.size is not a mapping",
    ]


def test_settings_with_a_wrong_option_or_value_name_themselves(full: Recipe) -> None:
    with pytest.raises(PipelineError) as caught:
        apply_settings(full, ["steps.all.sise=1", "steps.all.size=few", "run.resmue=true"])
    assert caught.value.problems == [
        "--set run.resmue: run: no option named 'resmue' (did you mean resume?)",
        "--set steps.all.sise: step 'all' (t.everything): no option named 'sise' "
        "(did you mean size?)",
        "--set steps.all.size: step 'all' (t.everything): option size must be a whole number, "
        "but is 'few'",
    ]


def test_a_setting_of_an_input_that_is_not_there(found: Plugins) -> None:
    recipe = load_recipe(steps("- t.plain"), plugins=found)
    with pytest.raises(PipelineError, match=r"--set input\.x: this recipe has no `input:`"):
        apply_settings(recipe, ["input.x=1"])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3), ("-1.5", -1.5), ("true", True), ("null", None), ("", None), ("abc", "abc"),
        ("*.jsonl", "*.jsonl"), ("[ab]*.jsonl", "[ab]*.jsonl"), ("[1, b]", [1, "b"]),
        ("{a: 1}", {"a": 1}), ("'3'", "3"), ('"no"', "no"), ("s3://a/b: c", "s3://a/b: c"),
        ("2020-01-01", "2020-01-01"), ("<<", "<<"), ("!!python/none", "!!python/none"),
        ("0x", "0x"), ("&a", "&a"),
    ],
)  # fmt: skip
def test_values_on_the_command_line(text: str, value: Any) -> None:
    assert parse_value(text) == value


@given(st.text())
def test_any_text_is_some_value(text: str) -> None:
    parse_value(text)


# Ids


@given(st.lists(st.sampled_from(["t.plain", "t.batched", "t.upper"]), min_size=1, max_size=6))
def test_default_ids_never_repeat(names: list[str]) -> None:
    found = Plugins()
    found.register("t", offering(STAGES))
    recipe = load_recipe(steps(*(f"- {name}" for name in names)), plugins=found)
    ids = [step.id for step in recipe.steps]
    assert len(set(ids)) == len(names)
    assert [stage.name for stage in recipe.stages] == ids


def test_a_default_id_gives_way_to_one_that_was_chosen(found: Plugins) -> None:
    recipe = load_recipe(
        steps("- t.plain", "- {stage: t.upper, id: plain}", "- t.plain"), plugins=found
    )
    assert [step.id for step in recipe.steps] == ["plain-2", "plain", "plain-3"]


# What there is to know about a stage


def test_help_for_a_stage(found: Plugins) -> None:
    help_ = stage_help("t.everything", found)
    assert (help_.doc, help_.distribution) == ("Has an option of every kind.", "acme-t")
    assert (help_.input_type, help_.output_type) == ("DocumentBatch", "DocumentBatch")
    options = {option.name: option for option in help_.options}
    assert (options["size"].type, options["size"].required) == ("int", True)
    assert options["size"].doc == "How large it is."
    assert (options["share"].default, options["share"].doc) == (0.5, "Between 0 and 1.")
    assert options["mode"].type == "'fast' | 'exact'"
    assert options["path"].type == "Path | None"
    assert options["names"].default == []
    assert options["spans"].type == "tuple[Range, ...]"
    assert options["rule"].type == "Callable[[str], bool] | None"
    assert "retries" in [option.name for option in help_.settings]


def test_help_for_a_stage_that_redefines_a_setting(found: Plugins) -> None:
    help_ = stage_help("t.batched", found)
    assert [(option.name, option.default) for option in help_.options] == [("batch_size", 32)]
    assert "batch_size" not in [option.name for option in help_.settings]
    assert help_.doc == ""


class TextChoice(BaseModel):
    kind: str


class NumberChoice(BaseModel):
    kind: int


@dataclass
class Unsupported(Batches):
    """Has a type that pydantic refuses: a union is told apart by literals only."""

    size: int = 1
    choice: Annotated[TextChoice | NumberChoice, Discriminator("kind")] | None = None


def test_an_option_of_an_unsupported_type_is_named_with_its_stage() -> None:
    plugins = Plugins()
    hook = hookimpl(lambda: {"t.odd": f"{__name__}:Unsupported"}, specname="curator_stages")
    plugins.register("t", SimpleNamespace(curator_stages=hook))
    with pytest.raises(PipelineError, match=r"odd.*: option 'choice' cannot be checked: "):
        load_recipe("name: x\nsteps:\n- t.odd\n", plugins=plugins)
