"""A plugin's workflow from the shell and from a recipe: first runs, repeated runs and mistakes."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from curator_cli.recipes import recipe_schema

Curate = Callable[..., Any]

RECIPE = """\
name: again
workflow: trial.twice
executor: {name: local, workers: 0}
options:
  input_path: raw
  output_path: out
"""

HERE = ("--executor", "local", "--workers", "0")


def texts_in(folder: Path) -> list[str]:
    lines = [line for path in folder.glob("*.jsonl") for line in path.read_text().splitlines()]
    return sorted(json.loads(line)["text"] for line in lines)


def test_a_workflow_is_a_command_of_its_plugin(curate: Curate, workspace: Path) -> None:
    result = curate("trial", "twice", "raw", "out", *HERE)
    assert (result.code, result.out.splitlines()[0].partition(" in ")[0]) == (
        0, "twice is done: first, second")  # fmt: skip
    assert result.out.splitlines()[1].split() == ["records", "5"]
    assert texts_in(workspace / "out") == ["ASH", "HARBOUR", "LANTERN", "OAK", "WINDOW"]
    again = curate("trial", "twice", "raw", "out", *HERE)
    assert "twice is finished already: nothing to do (first, second done before)" in again.out


def test_its_report_names_the_page_of_the_workflow_or_how_to_get_it(
    curate: Curate, workspace: Path
) -> None:
    curate("trial", "twice", "raw", "out", *HERE)
    work_dir = "out/.curator/twice"
    lines = " ".join(curate("report", work_dir).out.split())
    assert "second is done" in lines
    assert "workflow twice has no page of its own yet: run it again" in lines
    (workspace / work_dir / "duplicates.html").touch()
    lines = curate("report", work_dir).out
    assert "twice/duplicates.html" in lines
    assert "no page of its own" not in lines


def test_several_inputs_are_separate_arguments(curate: Curate) -> None:
    result = curate("trial", "twice", "raw/0.jsonl", "raw/2.jsonl", "out", *HERE, "--json")
    assert (result.code, result.json["metadata"], result.json["did_nothing"]) == (
        0,
        {"records": 3},
        False,
    )
    assert result.json["work_dir"] == "out/.curator/twice"
    assert list(result.json["runs"]) == ["first", "second"]


def test_its_help_says_what_its_class_says(curate: Curate) -> None:
    result = curate("trial", "twice", "--help")
    text = " ".join(result.out.split())
    assert "Usage: curate trial twice [OPTIONS] INPUT_PATH... OUTPUT_PATH Repeats every" in text
    assert "--refused TEXT A word that is refused." in text
    assert "--times N [default: 2]" in text
    assert "--how [loud|quiet] [default: loud]" in text
    assert "--is-quick / --no-is-quick [default: yes]" in text
    assert "--resources YAML What each worker gets. [default: {cpus: 2}]" in text


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("--how", "load"), 2, "--how: workflow 'trial.twice': option how must be 'loud' or "
         "'quiet', but is 'load' (did you mean loud?)"),
        (("--times", "many"), 2, "--times: workflow 'trial.twice': option times must be a whole "
         "number, but is 'many'"),
        (("--times", "0"), 2, "twice: times is 0, but must be 1 or more"),
        (("--refused", "oak"), 1, "the word oak is refused"),
        (("--tims", "1"), 2, "No such option '--tims'"),
    ],
)  # fmt: skip
def test_mistakes(curate: Curate, options: tuple[str, ...], code: int, message: str) -> None:
    result = curate("trial", "twice", "raw", "out", *options, *HERE)
    assert result.code == code
    assert message in result.err


def test_a_mistyped_workflow(curate: Curate) -> None:
    result = curate("trial", "twise", "raw", "out")
    assert (result.code, result.err) == (
        2, "curate: trial has no workflow or command 'twise' (did you mean twice?); "
        "see curate trial --help\n")  # fmt: skip


def test_input_may_be_missing_if_that_is_allowed(curate: Curate, workspace: Path) -> None:
    (workspace / "none").mkdir()
    (workspace / "none" / "0.jsonl").touch()
    refused = curate("trial", "twice", "none", "out", *HERE)
    assert (refused.code, "allow_empty (--allow-empty)" in refused.err) == (2, True)
    result = curate("trial", "twice", "none", "out", *HERE, "--allow-empty", "--json")
    assert (result.code, result.json["metadata"]) == (0, {"records": 0})


def test_a_recipe_of_a_workflow(curate: Curate, workspace: Path) -> None:
    (workspace / "recipe.yaml").write_text(RECIPE)
    planned = curate("plan", "recipe.yaml", "--json").json
    assert planned["options"] == {"input_path": "raw", "output_path": "out"}
    result = curate("run", "recipe.yaml", "--set", "options.output_path=there", "--json")
    assert (result.code, result.json["workflow"]) == (0, "trial.twice")
    assert len(texts_in(workspace / "there")) == 5
    status = curate("status", "there", "--json")
    assert (status.code, status.json["name"], status.json["state"]) == (0, "second", "done")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("trial.twice", "trial.twise",
         "recipe.yaml:2: no workflow named 'trial.twise' (did you mean trial.twice?)"),
        ("input_path", "input_pat",
         "recipe.yaml:5: workflow 'trial.twice': no option named 'input_pat' (did you mean "
         "input_path?)"),
        ("options:", "steps: []\noptions:", "recipe.yaml:4: `steps:` has no place beside "
         "`workflow:`: its options belong under `options:`"),
        ("workflow: trial.twice\n", "",
         "recipe.yaml:3: `options:` are those of a `workflow:`, and there is none"),
        ("options:", "run: {run_dir: x}\noptions:", "recipe.yaml:4: run: a workflow has no "
         "run_dir; its files are kept where its own options say"),
    ],
)  # fmt: skip
def test_a_wrong_recipe(curate: Curate, workspace: Path, old: str, new: str, message: str) -> None:
    (workspace / "recipe.yaml").write_text(RECIPE.replace(old, new))
    result = curate("run", "recipe.yaml")
    assert result.code == 2
    assert message in result.err.replace("curate: ", "")


def test_previews_are_of_one_pipeline(curate: Curate, workspace: Path) -> None:
    (workspace / "recipe.yaml").write_text(RECIPE)
    result = curate("preview", "recipe.yaml")
    assert result.err == (
        "curate: recipe.yaml: workflow 'trial.twice' is several pipelines, of which each is made "
        "when those before it have run; use curate plan and curate run\n"
    )


def test_workflows_are_listed_and_explained(curate: Curate) -> None:
    assert "  trial.twice  Repeats every letter, twice over." in curate("workflows").out
    text = curate("workflows", "trial.twice")
    assert "A word that is refused." in text.out
    assert "curate trial twice INPUT_PATH OUTPUT_PATH [--option value ...]" in text.out
    assert curate("workflows", "trial.twise").code == 2


def test_the_schema_knows_workflows(curate: Curate) -> None:
    import jsonschema
    import yaml

    validator = jsonschema.Draft202012Validator(recipe_schema())
    good = yaml.safe_load(RECIPE)
    assert not list(validator.iter_errors(good))
    for wrong in (
        {**good, "steps": []},
        {**good, "workflow": "trial.twise"},
        {**good, "options": {"input_path": "raw", "output_path": "out", "times": "x"}},
        {**good, "options": {"input_path": "raw"}},
        {"options": {}},
    ):
        assert list(validator.iter_errors(wrong))
