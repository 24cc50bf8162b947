"""Recipes from strangers: nothing in them is run, imported or unpacked without a limit."""

import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from curator_cli.recipes import load_recipe
from curator_core import DocumentBatch, Executor, ProcessingStage
from curator_core.errors import CuratorError, PipelineError
from curator_core.plugins.hookspecs import hookimpl
from curator_core.plugins.registry import Plugins
from hypothesis import given
from hypothesis import strategies as st


@dataclass
class Keep(ProcessingStage[DocumentBatch, DocumentBatch]):
    words: list[str] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)


@dataclass
class Line(Executor):
    runtime_env: dict[str, Any] | None = None

    def execute(self, plan: Any, run: Any) -> Any:
        return iter(())


@pytest.fixture(scope="module")
def found() -> Plugins:
    made = Plugins()
    plugin = SimpleNamespace(
        curator_stages=hookimpl(lambda: {"t.keep": f"{__name__}:Keep"}, specname="curator_stages"),
        curator_executors=hookimpl(
            lambda: {"t.line": f"{__name__}:Line"}, specname="curator_executors"
        ),
    )
    made.register("t", plugin)
    return made


def option(value: str) -> str:
    return f"name: x\nsteps:\n- stage: t.keep\n  options: {value}\n"


def step(value: str) -> str:
    return f"name: x\nsteps:\n- {value}\n"


LAUGHS = "\n".join(
    ["a0: &a0 [ha, ha]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
)

HOSTILE = {
    "python object": (
        option("{a: !!python/object/apply:os.system ['touch MARK']}"),
        "the tag !!python/object/apply:os.system is not allowed",
    ),
    "python object, new": (
        option("{a: !!python/object/new:subprocess.Popen [['touch', 'MARK']]}"),
        "the tag !!python/object/new:subprocess.Popen is not allowed",
    ),
    "python name": (
        option("{a: !!python/name:os.system ''}"),
        "the tag !!python/name:os.system is not allowed",
    ),
    "python module": (
        option("{a: !!python/module:antigravity ''}"),
        "the tag !!python/module:antigravity is not allowed",
    ),
    "python tuple": (option("!!python/tuple [1]"), "the tag !!python/tuple is not allowed"),
    "tag as a key": (
        option("{!!python/name:os.system : 1}"),
        "a key must be text, but this is !!python/name:os.system",
    ),
    "tag on the whole": (
        "!!python/object:curator_core.Pipeline\nname: x\n",
        "the tag !!python/object:curator_core.Pipeline is not allowed",
    ),
    "tag of its own": (option("!Env HOME"), "the tag !Env is not allowed"),
    "declared tag": (
        "%TAG ! tag:yaml.org,2002:python/\n---\nname: !name:os.system x\nsteps: [t.keep]\n",
        "the tag !!python/name:os.system is not allowed",
    ),
    "binary": (option("{a: !!binary aGVsbG8=}"), "the tag !!binary is not allowed"),
    "import path": (step("os:system"), "no stage named 'os:system'"),
    "import path with dots": (step("os.system"), "no stage named 'os.system'"),
    "import path of a stage": (step("curator_core.model.stages:ProcessingStage"), "no stage named"),
    "stage by class": (step("test_recipes_hostile.Keep"), "no stage named"),
    "dunder as a stage": (step("t.keep.__class__"), "no stage named 't.keep.__class__'"),
    "path as a stage": (step("../../etc/passwd"), "no stage named '../../etc/passwd'"),
    "format as a stage": (step("'{0.__class__.__mro__}'"), "no stage named '{0.__class__"),
    "list as a stage": (step("{stage: [t.keep]}"), "`stage:` must be a name of at most 200"),
    "endless stage name": (step("x" * 5000), "`stage:` must be a name of at most 200"),
    "dunder as an option": (
        step("{stage: t.keep, __class__: os.system}"),
        "no option named '__class__'",
    ),
    "dunder init": (step("{stage: t.keep, __init__: {x: 1}}"), "no option named '__init__'"),
    "method as an option": (step("{stage: t.keep, process: x}"), "no option named 'process'"),
    "attribute as an option": (step("{stage: t.keep, takes: x}"), "no option named 'takes'"),
    "environment of a worker": (
        step("{stage: t.keep, runtime_env: {pip: [evil]}}"),
        "no option named 'runtime_env'",
    ),
    "environment of an executor": (
        "steps: [t.keep]\nexecutor: {name: line, runtime_env: {pip: [evil]}}\n",
        "no option named 'runtime_env'",
    ),
    "executor by import path": (
        "steps: [t.keep]\nexecutor: subprocess:Popen\n",
        "no executor named 'subprocess:Popen'",
    ),
    "hidden substitution": (option("{a: '${python:os.system}'}"), "is neither ${env:NAME}"),
    "nested substitution": (option("{a: '${env:${env:HOME}}'}"), "is not closed"),
    "substitution in a stage": (step("${env:HOME}"), "no stage named '${env:HOME}'"),
    "laughing aliases": (LAUGHS + "\nsteps: [t.keep]\n", "aliases repeat themselves"),
    "alias inside itself": ("steps: [t.keep]\nx: &x [*x]\n", "aliases repeat themselves"),
    "alias inside itself, mapping": ("x: &x {y: *x}\nsteps: [t.keep]\n", "aliases repeat"),
    "many aliases": (
        option("{a: &a 1, b: [" + ", ".join(["*a"] * 500) + "]}"),
        "no more than 20,000 values or 200 aliases",
    ),
    "merged bomb": (option("{<<: {a: 1}}"), "merge keys (<<) are not allowed"),
    "deep lists": (option("[" * 5000 + "]" * 5000), "nested deeper than 40 levels"),
    "deep lists, open": (option("[" * 500_000), "nested deeper than 40 levels"),
    "deep mappings": (option("{a: " * 5000 + "}" * 5000), "nested deeper than 40 levels"),
    "deep blocks": (option("\n" + "".join(f"{' ' * (n + 4)}- \n" for n in range(900))), "nested"),
    "many values": (option("[" + "1, " * 30_000 + "]"), "no more than 20,000 values"),
    "large file": ("# " + "x" * 2_000_000 + "\nsteps: [t.keep]\n", "at most 1,000,000 characters"),
    "endless number": (option("{a: " + "9" * 100_000 + "}"), "is not a valid int"),
    "number of base sixty": (option("{a: 1" + ":59" * 50_000 + "}"), "is not a valid int"),
    "wrong number": (option("{a: !!int abc}"), "'abc' is not a valid int"),
    "key that is a list": (option("{[a, b]: 1}"), "a key must be text"),
    "lone surrogate": (option('{a: "\\ud800"}'), "step 'keep' (t.keep): option must be"),
    "id with a path": (step("{stage: t.keep, id: /etc/x}"), "an id is text of"),
    "id with a line": (step('{stage: t.keep, id: "a\\nb"}'), "an id is text of"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_recipe_is_refused_and_not_run(
    kind: str, found: Plugins, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: Any, **__: Any) -> None:
        raise AssertionError("a recipe ran something")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("os.system", never)
    monkeypatch.setattr(subprocess, "Popen", never)
    text, message = HOSTILE[kind]
    started = time.process_time()
    with pytest.raises(PipelineError) as caught:
        load_recipe(text, plugins=found)
    assert time.process_time() - started < 5
    assert message in str(caught.value)
    assert not list(tmp_path.iterdir())
    assert len(str(caught.value)) < 20_000


def test_an_endless_file_is_not_read_completely(found: Plugins, tmp_path: Path) -> None:
    path = tmp_path / "large.yaml"
    with path.open("wb") as file:
        file.truncate(10_000_000_000)
    with pytest.raises(PipelineError, match="at most 1,000,000 bytes"):
        load_recipe(path, plugins=found)


def test_honest_aliases_are_fine(found: Plugins) -> None:
    recipe = load_recipe(
        "steps:\n- {stage: t.keep, words: &few [a, b]}\n- {stage: t.keep, words: *few}\n",
        plugins=found,
    )
    first, second = recipe.stages
    assert isinstance(first, Keep)
    assert isinstance(second, Keep)
    assert first.words == second.words == ["a", "b"]
    assert first.words is not second.words


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just("t.keep"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text() | st.sampled_from(["stage", "id", "name", "words"]), inner)
    ),
    max_leaves=12,
)
KEYS = ["name", "description", "executor", "input", "steps", "output", "errors", "run"]


@given(st.dictionaries(st.sampled_from(KEYS), values | st.lists(values)))
def test_any_recipe_is_read_or_refused(data: dict[str, Any]) -> None:
    made = Plugins()
    hook = hookimpl(lambda: {"t.keep": f"{__name__}:Keep"}, specname="curator_stages")
    made.register("t", SimpleNamespace(curator_stages=hook))
    with suppress(CuratorError):
        load_recipe(yaml.safe_dump(data) + "\n", plugins=made).pipeline()


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    with pytest.raises(PipelineError):
        load_recipe(f"{text}\n", plugins=Plugins())


def test_thousands_of_steps_of_one_kind_are_checked_by_one_model(found: Plugins) -> None:
    from curator_cli.recipes.option_validation import model_of

    load_recipe("name: x\nsteps:\n- t.keep\n", plugins=found)
    before = model_of.cache_info().misses
    load_recipe("name: x\nsteps:\n" + "- t.keep\n" * 2000, plugins=found)
    assert model_of.cache_info().misses - before < 10
