"""`curate plan`, `plugins` and `schema`."""

import gzip
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from curator_core.plugins.registry import plugins

Curate = Callable[..., Any]
CURATE = (sys.executable, "-c", "from curator_cli.__main__ import main; main()")


def test_a_plan_shows_stages_columns_and_executor_and_runs_nothing(
    curate: Curate, workspace: Path
) -> None:
    result = curate("plan", "recipe.yaml")
    assert (result.code, result.err) == (0, "")
    lines = [line.rstrip() for line in result.out.splitlines()]
    assert lines[0] == "trial: Long words in capitals."
    [row] = [line.split() for line in lines if " long_enough " in line]
    assert row == ["3", "long_enough", "DocumentBatch", "reads", "text", "1", "CPU"]
    assert "executor     LocalExecutor (as requested)" in lines
    assert lines[-1] == "The plan is valid."
    assert not (workspace / "out").exists()


def test_a_plan_as_json(curate: Curate) -> None:
    plan = curate("plan", "recipe.yaml", "--json").json
    assert [stage["name"] for stage in plan["stages"]][2:4] == ["long_enough", "loud"]
    loud = plan["stages"][3]
    assert loud["options"] == {"refused": "", "seconds": 0.0}
    assert (loud["input_type"], loud["output_type"], loud["reads"]) == (
        "DocumentBatch",
        "DocumentBatch",
        ["text"],
    )
    assert loud["resources"] == {"cpus": 1.0}


def test_columns_before_and_after_are_shown_where_the_reader_knows_them(
    curate: Curate, workspace: Path
) -> None:
    recipe = (workspace / "recipe.yaml").read_text()
    (workspace / "recipe.yaml").write_text(
        recipe.replace("raw/*.jsonl", "raw/*.jsonl\n  fields: [text]")
    )
    stages = curate("plan", "recipe.yaml", "--json").json["stages"]
    assert stages[1]["columns_after"] == stages[2]["columns_before"] == ["text"]


def test_a_secret_is_not_shown(
    curate: Curate, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORD", "hush-hush")
    recipe = (workspace / "recipe.yaml").read_text()
    (workspace / "recipe.yaml").write_text(recipe.replace("id: loud", "refused: ${secret:WORD}"))
    result = curate("plan", "recipe.yaml", "--json", "--env", "WORD")
    assert "hush-hush" not in result.out
    assert "${secret:WORD}" in result.out


def test_a_plan_with_problems_only_shows_them(curate: Curate, workspace: Path) -> None:
    result = curate("plan", "recipe.yaml", "--set", "input.file_paths=rwa/*.jsonl")
    assert (result.code, result.out) == (2, "")
    assert "no files match rwa/*.jsonl" in result.err


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.csv", b"id,text\n1,oak\n", "text.csv_reader"),
        ("a.jsonl", b'[{"text": "oak"}]', "not a JSON object"),
        ("a.jsonl.gz", gzip.compress(b'{"text": "oak"}\n', mtime=0)[:15], "ends too early"),
    ],
)
def test_inputs_that_no_run_could_read(
    curate: Curate, workspace: Path, name: str, content: bytes, words: str
) -> None:
    (workspace / name).write_bytes(content)
    result = curate("plan", "recipe.yaml", "--set", f"input.file_paths={name}")
    assert (result.code, result.out) == (2, "")
    assert "stage 2 'jsonl_reader'" in result.err
    assert words in result.err


def test_a_file_that_can_be_read_beside_one_that_cannot(curate: Curate, workspace: Path) -> None:
    (workspace / "raw/-first.jsonl").write_text("id,text\n1,oak\n")
    assert curate("plan", "recipe.yaml").code == 0


def test_a_file_with_many_bad_lines_before_a_good_one(curate: Curate, workspace: Path) -> None:
    lines = "broken\n" * 1000 + '{"text": "oak"}\n'
    (workspace / "a.jsonl").write_text(lines)
    assert curate("plan", "recipe.yaml", "--set", "input.file_paths=a.jsonl").code == 0


def test_a_lower_limit_by_default_is_shown(curate: Curate, workspace: Path) -> None:
    recipe = (workspace / "recipe.yaml").read_text()
    step = "- stage: text.word_count_filter\n    max_words: 200"
    (workspace / "recipe.yaml").write_text(recipe.replace("- trial.long_enough", step))
    [note] = curate("plan", "recipe.yaml", "--json").json["notes"]
    assert "min_words is 50 by default" in note
    settings = ("--set", "steps.word_count_filter.min_words=0")
    assert curate("plan", "recipe.yaml", *settings, "--json").json["notes"] == []


def test_missing_resources_have_their_own_exit_code(curate: Curate, workspace: Path) -> None:
    recipe = (workspace / "recipe.yaml").read_text()
    (workspace / "recipe.yaml").write_text(recipe.replace("- trial.long_enough", "- trial.on_gpu"))
    result = curate("plan", "recipe.yaml")
    assert result.code == 5
    assert result.err.startswith("curate: stage 3 'on_gpu' asks for 64 GPU, but this machine has ")


def test_plugins_are_listed_with_what_they_offer(curate: Curate) -> None:
    lines = curate("plugins").out.splitlines()
    at = lines.index("curator-trial 1.2")
    assert lines[at + 1] == "  stages          trial.long_enough, trial.on_gpu, trial.upper"
    assert lines[at + 2] == "  workflows       trial.twice"
    assert lines[at + 3] == "  commands        trial.hello, trial.no_command"


def test_a_broken_plugin_is_shown_with_its_cause(
    curate: Curate, trial_modules: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "curator_trial_plugin", None)
    plugins.cache_clear()
    result = curate("plugins")
    assert result.code == 0
    assert (
        "broken: plugin 'trial' of curator-trial 1.2 is disabled: ModuleNotFoundError" in result.out
    )
    assert "curator-core" in result.out
    assert curate("plugins", "--strict").code == 1
    assert curate("plugins", "--json").json["broken"][0]["name"] == "trial"


def test_the_schema_knows_the_stages(curate: Curate) -> None:
    assert "trial.upper" in curate("schema").json["$defs"]


def test_a_plan_fits_eighty_columns(curate: Curate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    result = curate(
        "plan", "recipe.yaml", "--set", "steps.loud.id=a_name_of_some_length_for_a_stage"
    )
    lines = result.out.splitlines()
    [row] = [line for line in lines if "a_name_of_some" in line]
    assert row.endswith("1 CPU")
    assert max(map(len, lines)) <= 80


def test_names_in_a_plan_are_not_broken(
    curate: Curate, monkeypatch: pytest.MonkeyPatch, workspace: Path
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    recipe = (workspace / "recipe.yaml").read_text()
    long = "text.repeating_duplicate_n_grams_filter"
    (workspace / "recipe.yaml").write_text(recipe.replace("- trial.long_enough", f"- {long}"))
    assert " repeating_duplicate_n_grams_filter " in curate("plan", "recipe.yaml").out


def test_a_recipe_may_be_piped_in(workspace: Path) -> None:
    with (workspace / "recipe.yaml").open() as recipe:
        ended = subprocess.run([*CURATE, "plan", "-"], stdin=recipe, capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "The plan is valid." in ended.stdout


def test_a_mistake_in_a_piped_recipe_has_a_line(workspace: Path) -> None:
    ended = subprocess.run(
        [*CURATE, "plan", "-"], input="name: x\nstep: []\n", capture_output=True, text=True
    )
    assert ended.returncode == 2
    assert ended.stderr.splitlines()[0] == (
        "curate: <stdin>:2: no key named 'step' (did you mean steps?)"
    )


def test_nothing_piped_in(workspace: Path) -> None:
    command = ["sh", "-c", f"exec {shlex.join([*CURATE, 'plan', '-'])} <&-"]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode == 2
    assert ended.stderr == "curate: recipe '-' cannot be read: nothing is piped in\n"


def test_the_folder_of_a_recipe_instead_of_it(curate: Curate, workspace: Path) -> None:
    result = curate("plan", str(workspace))
    assert result.code == 2
    assert result.err == (
        f"curate: recipe '{workspace}' cannot be read: Is a directory "
        f"(did you mean {workspace}/recipe.yaml?)\n"
    )


def test_a_setting_without_a_name(curate: Curate) -> None:
    result = curate("plan", "recipe.yaml", "--set", "=1")
    assert result.err == "curate: --set '=1': write it as steps.<id>.<option>=<value>\n"
