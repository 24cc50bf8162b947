"""`curate run` and `curate retry`."""

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from curator_cli.commands.run import RunFlags
from curator_core.errors import PipelineError
from curator_core.run.run import ActiveRun

Curate = Callable[..., Any]
CURATE = (sys.executable, "-c", "from curator_cli.__main__ import main; main()")


def kept(workspace: Path) -> list[str]:
    files = sorted((workspace / "out").glob("*.jsonl"))
    return sorted(json.loads(line)["text"] for f in files for line in f.read_text().splitlines())


def test_a_run_says_where_it_runs_and_closes_with_a_summary(
    curate: Curate, workspace: Path
) -> None:
    result = curate("run", "recipe.yaml")
    assert result.code == 0
    assert result.err.splitlines()[0] == "running trial on LocalExecutor (as requested)"
    lines = result.out.splitlines()
    assert lines[0].startswith("trial is done: 3 sources in ")
    [row] = [line.split() for line in lines if line.startswith("long_enough ")]
    assert [*row[:4], *row[-2:]] == ["long_enough", "5", "3", "2", "too", "short"]
    assert any(line.split() == ["files", "2", "files", "in", f"{workspace}/out"] for line in lines)
    assert kept(workspace) == ["HARBOUR", "LANTERN", "WINDOW"]


def test_a_run_that_keeps_nothing_says_which_rule_dropped_most(
    curate: Curate, workspace: Path
) -> None:
    options = ("--set", "steps.long_enough.min_chars=1000")
    result = curate("run", "recipe.yaml", *options)
    assert result.code == 6
    assert result.out.splitlines()[0] == "trial kept nothing: every record was dropped"
    [warning] = [line for line in result.err.splitlines() if "--allow-empty" in line]
    assert "5 of them by stage 'long_enough' (too short)" in warning
    assert Path(workspace, "out", ".curator", "trial", "report.html").exists()
    assert curate("run", "recipe.yaml", *options).code == 6
    assert curate("run", "recipe.yaml", *options, "--allow-empty").code == 0


def test_a_run_logs_under_thirty_lines(curate: Curate) -> None:
    result = curate("run", "recipe.yaml")
    assert len(result.out.splitlines()) + len(result.err.splitlines()) < 30


def test_a_second_run_says_that_nothing_is_left_to_do(curate: Curate, workspace: Path) -> None:
    curate("run", "recipe.yaml")
    before = sorted(path.stat().st_mtime_ns for path in (workspace / "out").glob("part-*"))
    began = time.process_time()
    result = curate("run", "recipe.yaml")
    assert time.process_time() - began < 1
    assert result.code == 0
    first = result.out.splitlines()[0]
    assert first == "trial is finished already: nothing to do (3 sources done before)"
    assert "dropped" not in result.out
    assert before == sorted(path.stat().st_mtime_ns for path in (workspace / "out").glob("part-*"))


def test_only_json_is_on_stdout(curate: Curate) -> None:
    result = curate("run", "recipe.yaml", "--json").json
    assert (result["name"], result["status"], result["sources_done"]) == ("trial", "done", 3)
    assert result["stages"]["long_enough"]["reasons"] == {"too short": 2}
    assert result["report"].endswith("/report.html")


def test_quiet_is_quiet(curate: Curate) -> None:
    result = curate("run", "recipe.yaml", "--quiet")
    assert (result.code, result.out, result.err) == (0, "", "")


def test_what_workers_print_is_kept_and_shown_if_asked(
    curate: Curate, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = ActiveRun.start

    def start_with_output(run: ActiveRun, *given: str) -> None:
        start(run, *given)
        run.add_worker_output("1", "10 %\r20 %\n\x1b[31mred")

    monkeypatch.setattr(ActiveRun, "start", start_with_output)
    quiet = curate("run", "recipe.yaml", "--workers", "0", "--quiet")
    assert (quiet.out, quiet.err) == ("", "")
    shown = curate("run", "recipe.yaml", "--workers", "0", "--logs", "--no-resume")
    message = [line for line in shown.err.splitlines() if line.startswith("worker ")]
    assert message == ["worker 1: 20 %", "worker 1: [U+001B][31mred"]
    [log] = (workspace / "out" / ".curator" / "trial" / "logs").iterdir()
    assert (log.name, log.read_bytes()) == ("worker-1.log", b"10 %\r20 %\n\x1b[31mred\n")


def test_settings_change_options(curate: Curate, workspace: Path) -> None:
    curate("run", "recipe.yaml", "--set", "steps.long_enough.min_chars=7")
    assert kept(workspace) == ["HARBOUR", "LANTERN"]


def test_a_setting_without_a_target_is_invalid(curate: Curate, workspace: Path) -> None:
    result = curate("run", "recipe.yaml", "--set", "steps.lowd.refused=x")
    assert result.code == 2
    assert result.err == (
        "curate: --set steps.lowd.refused: no step named 'lowd' (did you mean loud?)\n"
    )
    assert not (workspace / "out").exists()


def test_workers_and_executors_can_be_chosen(curate: Curate, workspace: Path) -> None:
    result = curate("run", "recipe.yaml", "--executor", "lcoal", "--workers", "1")
    assert result.code == 2
    assert "no executor named 'lcoal' (did you mean " in result.err
    assert curate("run", "recipe.yaml", "--workers", "1").code == 0
    assert kept(workspace) == ["HARBOUR", "LANTERN", "WINDOW"]


def test_workers_alone_apply_to_the_default_executor(curate: Curate, workspace: Path) -> None:
    recipe = (workspace / "recipe.yaml").read_text()
    (workspace / "recipe.yaml").write_text(
        recipe.replace("executor: {name: local, workers: 0}\n", "")
    )
    assert curate("plan", "recipe.yaml", "--workers", "1", "--json").json["why"] == "as requested"
    result = curate("run", "recipe.yaml", "--workers", "-1")
    assert result.code == 2
    assert "-1 is not in the range" in result.err


def test_a_dashboard_is_an_option_of_the_executor(
    curate: Curate, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    streaming = pytest.importorskip("curator_streaming")
    seen: list[object] = []

    def run(pipeline: object, executor: object, *_: object) -> None:
        seen.append(executor)
        raise PipelineError("far enough")

    monkeypatch.setattr("curator_cli.commands.run._run", run)
    result = curate("run", "recipe.yaml", "--dashboard", "--executor", "streaming")
    assert "far enough" in result.err
    [executor] = seen
    assert isinstance(executor, streaming.StreamingExecutor)
    assert executor.options.dashboard
    refused = curate("run", "recipe.yaml", "--dashboard")
    assert (refused.code, len(seen)) == (2, 1)
    assert "local' has no dashboard; use --executor streaming" in refused.err


def test_workers_of_a_cluster_are_not_counted(curate: Curate) -> None:
    pytest.importorskip("curator_actor_pool")
    result = curate("run", "recipe.yaml", "--executor", "actor_pool", "--workers", "3")
    assert result.code == 2
    assert result.err == (
        "curate: --workers: the executor 'actor_pool' has as many workers as its cluster holds; "
        "give a step its num_workers (--set steps.<id>.num_workers=2), or use --executor local\n"
    )


def test_the_run_can_be_kept_elsewhere(curate: Curate, workspace: Path) -> None:
    assert curate("run", "recipe.yaml", "--run-dir", "kept").code == 0
    assert (workspace / "kept" / "run.json").exists()
    assert (workspace / "kept" / "report.html").exists()
    assert not (workspace / "out" / ".curator").exists()


def test_no_input_is_an_error(curate: Curate, workspace: Path) -> None:
    for path in (workspace / "raw").iterdir():
        path.unlink()
    result = curate("run", "recipe.yaml")
    assert result.code == 2
    assert "no files match raw/*.jsonl" in result.err


def test_flags_are_settings_of_the_recipe() -> None:
    flags = RunFlags(no_resume=True, allow_empty=True, max_failures="0.5")
    assert flags.settings() == [
        "run.resume=false",
        "run.allow_empty=true",
        "errors.max_failures=0.5",
    ]


REFUSING = ("--set", "steps.loud.refused=oak", "--set", "steps.long_enough.min_chars=0")


def test_quarantined_records_are_reported_and_fail_a_strict_run(
    curate: Curate, workspace: Path
) -> None:
    result = curate("run", "recipe.yaml", *REFUSING)
    assert result.code == 0
    assert "quarantined  2, stored in out/.curator/trial/quarantine" in result.out
    assert "2 in loud: ValueError: the word oak is refused" in result.out
    assert "raw/0.jsonl" in result.out
    assert "curate retry out/.curator/trial" in result.out
    assert curate("run", "recipe.yaml", *REFUSING, "--strict").code == 3


def test_too_many_failures_end_the_run(curate: Curate) -> None:
    result = curate("run", "recipe.yaml", *REFUSING, "--max-failures", "0")
    assert result.code == 4
    assert "max_failures=0 allows" in result.err


def test_a_failing_stage_ends_a_run_with_on_error_fail(curate: Curate) -> None:
    result = curate("run", "recipe.yaml", *REFUSING, "--set", "errors.on_error=fail")
    assert result.code == 1
    message = result.err.splitlines()[-1]
    assert message.startswith("curate: stage 'loud' failed: ValueError: the word oak is refused (")
    assert "(source: " in message
    assert "Traceback" not in result.err


def test_missing_resources_have_a_code_of_their_own(curate: Curate, workspace: Path) -> None:
    recipe = (workspace / "recipe.yaml").read_text()
    (workspace / "recipe.yaml").write_text(recipe.replace("- trial.long_enough", "- trial.on_gpu"))
    result = curate("run", "recipe.yaml")
    assert result.code == 5
    assert "asks for 64 GPU" in result.err


def test_a_changed_recipe_is_refused_or_started_over(curate: Curate, workspace: Path) -> None:
    curate("run", "recipe.yaml")
    changed = ("--set", "steps.long_enough.min_chars=7")
    result = curate("run", "recipe.yaml", *changed)
    assert result.code == 2
    assert "min_chars 5 became 7" in result.err
    anew = (*changed, "--no-resume", "--set", "output.mode=overwrite")
    assert curate("run", "recipe.yaml", *anew).code == 0
    assert kept(workspace) == ["HARBOUR", "LANTERN"]


def test_retry_replays_the_quarantine(
    curate: Curate, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REFUSED", "oak")
    recipe = (workspace / "recipe.yaml").read_text()
    (workspace / "recipe.yaml").write_text(recipe.replace("id: loud", "refused: ${env:REFUSED}"))
    options = ("--set", "steps.long_enough.min_chars=0")
    curate("run", "recipe.yaml", *options, "--env", "REFUSED")
    assert kept(workspace) == ["ASH", "HARBOUR", "WINDOW"]

    refused = curate("retry", "out", "--strict")
    assert refused.code == 2
    assert "--env REFUSED" in refused.err
    again = curate("retry", "out", "--strict", "--env", "REFUSED")
    assert again.code == 3
    assert again.out.splitlines()[0] == "trial: 1 task retried, 1 still in quarantine"


def test_retry_with_nothing_to_try(curate: Curate) -> None:
    curate("run", "recipe.yaml")
    result = curate("retry", "out")
    assert (result.code, result.err) == (0, "")
    assert result.out == "trial: nothing in quarantine can be retried\n"


def test_retry_needs_a_run_that_came_from_a_recipe(curate: Curate, workspace: Path) -> None:
    curate("run", "recipe.yaml")
    (workspace / "out/.curator/trial/recipe.yaml").unlink()
    result = curate("retry", "out")
    assert result.code == 2
    assert "was not made from a recipe, so its stages are not known here" in result.err


def test_secrets_are_not_in_the_recipe_of_a_retry(
    curate: Curate, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORD", "hush-hush")
    recipe = (workspace / "recipe.yaml").read_text()
    (workspace / "recipe.yaml").write_text(recipe.replace("id: loud", "refused: ${secret:WORD}"))
    assert curate("run", "recipe.yaml", "--env", "WORD").code == 0
    stored = (workspace / "out/.curator/trial/recipe.yaml").read_text()
    assert "refused: ${secret:WORD}" in stored
    everything = [p.read_bytes() for p in (workspace / "out").rglob("*") if p.is_file()]
    assert not any(b"hush-hush" in content for content in everything)


@pytest.mark.parametrize("command", ["plan", "run"])
def test_an_unknown_executor_is_not_reported_as_a_setting(curate: Curate, command: str) -> None:
    result = curate(command, "recipe.yaml", "--executor", "locale")
    assert result.code == 2
    assert result.err.startswith("curate: no executor named 'locale' (did you mean core.local?)")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_run_says_how_to_resume(workspace: Path, number: int, code: int) -> None:
    slow = ("--set", "steps.loud.seconds=0.4", "--workers", "1")
    with subprocess.Popen(
        [*CURATE, "run", "recipe.yaml", *slow], stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "running trial on LocalExecutor (as requested)\n"
        time.sleep(0.3)
        process.send_signal(number)
        message = process.stderr.read()
    assert process.returncode == code
    lines, _, end = message.partition("\n")
    assert lines.startswith("stopping: running work may finish")
    assert end.startswith(f"curate: stopped by {signal.Signals(number).name}: ")
    assert "run the same command again to resume" in message
    subprocess.run([*CURATE, "run", "recipe.yaml", *slow, "--quiet"], check=True)
    assert kept(workspace) == ["HARBOUR", "LANTERN", "WINDOW"]


def test_a_recipe_without_a_writer_says_that_nothing_was_written(
    curate: Curate, workspace: Path
) -> None:
    recipe = (workspace / "recipe.yaml").read_text()
    (workspace / "recipe.yaml").write_text(recipe.partition("output:")[0])
    result = curate("run", "recipe.yaml")
    assert result.code == 0
    assert "nothing was written: none of the stages writes files" in result.out


def test_a_report_that_cannot_be_written_does_not_fail_the_run(
    curate: Curate, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(run_dir: str) -> str:
        raise PermissionError("no")

    monkeypatch.setattr("curator_report.page.write_report", refuse)
    result = curate("run", "recipe.yaml")
    assert result.code == 0
    assert "the report could not be written: no" in result.err


def test_a_run_in_which_everything_failed_is_not_a_success(curate: Curate, workspace: Path) -> None:
    for file in (workspace / "raw").iterdir():
        file.write_bytes(b'\xff\xfe{\x00"\x00')
    lines = (
        "curate: most tasks failed: stage 'jsonl_reader' failed on 3 of 3 tasks: cannot read "
        f"{workspace}/raw/N.jsonl: it is UTF-16; convert it to UTF-8 (iconv -f UTF-16 -t UTF-8). "
        "See out/.curator/trial/quarantine. Fix the cause and run again (changed inputs are "
        "detected); if this is expected, set max_failures or allow_empty (--allow-empty)\n"
    )
    result = curate("run", "recipe.yaml", "--quiet")
    assert (result.code, result.out) == (4, "")
    assert re.sub(r"\d\.jsonl", "N.jsonl", result.err) == lines
    facts = curate("run", "recipe.yaml", "--json").json
    assert (facts["error"]["type"], facts["error"]["exit_code"]) == ("BudgetError", 4)
    assert (facts["status"], facts["stages"]["jsonl_reader"]["tasks_failed"]) == ("failed", 3)
    assert curate("run", "recipe.yaml", "--allow-empty", "--quiet").code == 0


def test_a_retry_is_not_suggested_for_rejected_records_that_cannot_be_retried(
    curate: Curate, workspace: Path
) -> None:
    for file in (workspace / "raw").iterdir():
        file.write_text('{"text": "harbour"}\n' + "{broken\n" * 5)
    result = curate("run", "recipe.yaml", "--quiet")
    assert result.code == 4
    assert "rejected 15 records" in result.err
    assert "curate retry" not in result.err
