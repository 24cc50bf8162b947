"""Recipes of whole curations: workflows and Python functions among the steps."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from curator_cli.recipes import load_recipe, recipe_schema
from curator_cli.recipes.permissions import Permissions
from curator_core import Curation, PipelineError

Curate = Callable[..., Any]

RECIPE = """\
name: whole
executor: {name: local, workers: 0}
input: {stage: core.jsonl_reader, file_paths: raw}
steps:
  - python: rules.py:no_fox
  - workflow: dedup.exact
  - python: rules.py:words
    into: length
output: {stage: core.jsonl_writer, path: clean}
"""

RULES = """\
def no_fox(text: str) -> bool:
    return "fox" not in text

def words(text: str) -> int:
    return len(text.split())
"""

PYTHON = Permissions(allow_python=True)


@pytest.fixture
def folder(workspace: Path) -> Path:
    pytest.importorskip("curator_dedup")
    texts = ["the fox", "an oak tree", "an oak tree", "an elm"]
    lines = [json.dumps({"id": n, "text": text}) for n, text in enumerate(texts)]
    (workspace / "raw").mkdir(exist_ok=True)
    for file in (workspace / "raw").iterdir():
        file.unlink()
    (workspace / "raw/a.jsonl").write_text("\n".join(lines))
    (workspace / "rules.py").write_text(RULES)
    (workspace / "r.yaml").write_text(RECIPE)
    return workspace


def records_in(folder: Path) -> list[tuple[str, int]]:
    lines = [line for path in folder.glob("*.jsonl") for line in path.read_text().splitlines()]
    return sorted((record["text"], record["length"]) for record in map(json.loads, lines))


def test_one_command_runs_it_and_the_second_time_there_is_nothing_to_do(
    curate: Curate, folder: Path
) -> None:
    first = curate("run", "r.yaml", "--allow-python")
    again = curate("run", "r.yaml", "--allow-python")

    assert first.code == again.code == 0
    assert records_in(folder / "clean") == [("an elm", 2), ("an oak tree", 3)]
    assert "no_fox dropped 1" in first.out
    assert "1 duplicate removed" in first.out
    assert "nothing to do" in again.out


def test_one_report_and_one_card_tell_of_all_parts(curate: Curate, folder: Path) -> None:
    run = curate("run", "r.yaml", "--allow-python")
    assert "clean/.curator/whole/report.html" in run.out

    report = json.loads(curate("report", "clean", "--json").out)
    assert report["state"] == "done"
    assert [report["stages"][name]["items_dropped"] for name in ("no_fox", "exact")] == [1, 1]
    assert "intermediate_writer" not in report["stages"]
    page = (folder / "clean/.curator/whole/report.html").read_text()
    assert "an elm" in page  # a record that was kept
    card = curate("card", "clean", "--output", "-").out
    assert "| documents | 4 | 2 |" in card
    assert "workflow: dedup.exact" in card


def test_an_unfinished_curation_is_reported_as_such(curate: Curate, folder: Path) -> None:
    (folder / "rules.py").write_text(RULES.replace("len(text.split())", "nothing"))
    assert curate("run", "r.yaml", "--allow-python").code != 0

    report = json.loads(curate("report", "clean", "--json").out)
    assert report["state"] != "done"
    assert report["stages"]["exact"]["items_dropped"] == 1


def test_a_part_is_not_retried_on_its_own(curate: Curate, folder: Path) -> None:
    curate("run", "r.yaml", "--allow-python")
    result = curate("retry", "clean", "--allow-python")

    assert result.code == 2
    assert "part of a curation" in result.err


def test_the_run_directory_can_be_elsewhere(curate: Curate, folder: Path) -> None:
    assert curate("run", "r.yaml", "--allow-python", "--run-dir", "state").code == 0
    assert (folder / "state/report.html").exists()
    assert not (folder / "clean/.curator").exists()


def test_plan_shows_parts_and_steps(curate: Curate, folder: Path) -> None:
    plan = json.loads(curate("plan", "r.yaml", "--allow-python", "--json").out)

    assert [part["name"] for part in plan["parts"]] == ["1-stages", "2-exact", "3-stages"]
    assert [step["id"] for step in plan["parts"][2]["steps"]] == ["words", "jsonl_writer"]


def test_python_needs_permission(curate: Curate, folder: Path) -> None:
    result = curate("run", "r.yaml")

    assert result.code == 2
    assert "r.yaml:5" in result.err
    assert "--allow-python" in result.err
    assert not (folder / "clean").exists()


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ("{python: 'rules.py:no_fix'}", r"no function 'no_fix'.*no_fox"),
        ("{python: 'rule.py:no_fox'}", r"there is no .*rule.py .*rules.py"),
        ("{python: 'rules:no_fox'}", "write it as FILE.py:FUNCTION"),
        ("{python: '../rules.py:no_fox'}", "not beside the recipe"),
        ("{python: '/rules.py:no_fox'}", "not beside the recipe"),
        ("{python: 'rules.py:no_fox', colum: text}", "'colum'.*column"),
        ("{stage: dedup.exact}", "is a workflow; write `workflow: dedup.exact`"),
        ("{workflow: core.jsonl_reader}", "is a stage; write `stage: core.jsonl_reader`"),
        ("{workflow: dedup.exakt}", "dedup.exact"),
        ("{workflow: dedup.exact, output_path: x}", "output_path"),
        ("{workflow: dedup.exact, stage: x}", "make two steps of it"),
    ],
)
def test_steps_with_mistakes(folder: Path, step: str, message: str) -> None:
    recipe = RECIPE.replace("python: rules.py:no_fox", step)
    (folder / "r.yaml").write_text(recipe)

    with pytest.raises(PipelineError, match=message):
        load_recipe(folder / "r.yaml", permissions=PYTHON)


def test_keep_intermediate_needs_intermediate_files(folder: Path) -> None:
    plain = RECIPE.replace("  - workflow: dedup.exact\n", "")
    (folder / "r.yaml").write_text(f"{plain}run: {{keep_intermediate: true}}\n")

    with pytest.raises(PipelineError, match="no step is a workflow"):
        load_recipe(folder / "r.yaml", permissions=PYTHON)


def test_a_setting_changes_a_step(curate: Curate, folder: Path) -> None:
    set_keep = "steps.exact.keep=none"
    assert curate("run", "r.yaml", "--allow-python", "--set", set_keep).code == 0
    assert records_in(folder / "clean") == [("an elm", 2)]


def test_it_becomes_yaml_and_back(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = load_recipe(folder / "r.yaml", permissions=PYTHON)
    assert recipe.curation is not None

    text = recipe.curation.to_yaml()
    (folder / "again.yaml").write_text(text)
    again = load_recipe(folder / "again.yaml", permissions=PYTHON).curation

    assert isinstance(again, Curation)
    assert again.to_yaml() == text
    assert yaml.safe_load(text)["steps"][2] == {"workflow": "dedup.exact"}


def test_the_schema_accepts_it(folder: Path) -> None:
    validator = jsonschema.Draft202012Validator(recipe_schema())

    assert not list(validator.iter_errors(yaml.safe_load(RECIPE)))
    wrong = yaml.safe_load(RECIPE.replace("dedup.exact", "dedup.exakt"))
    assert list(validator.iter_errors(wrong))


def test_a_retry_has_the_function_even_if_the_file_has_changed(
    curate: Curate, folder: Path
) -> None:
    plain = RECIPE.replace("  - workflow: dedup.exact\n", "")
    (folder / "r.yaml").write_text(f"{plain}errors: {{max_failures: null}}\n")
    (folder / "rules.py").write_text(
        "import os\n"
        "def no_fox(text):\n"
        "    if 'elm' in text and os.path.exists('broken'):\n"
        "        raise OSError('not yet')\n"
        "    return 'fox' not in text\n" + RULES.partition("\n\n")[2]
    )
    (folder / "broken").touch()
    assert curate("run", "r.yaml", "--allow-python").code == 0
    (folder / "broken").unlink()
    (folder / "rules.py").unlink()

    assert curate("retry", "clean").code == 2
    assert curate("retry", "clean", "--allow-python").code == 0
    assert ("an elm", 2) in records_in(folder / "clean")
