"""What every command has in common: help, errors, exit codes, JSON, pipes."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from curator_cli.app import call, main
from curator_cli.group import COMMANDS
from curator_core.errors import RunInterrupted
from curator_core.plugins.registry import plugins
from curator_core.testing import modules_loaded_by

Curate = Callable[..., Any]
CURATE = (sys.executable, "-c", "from curator_cli.__main__ import main; main()")


def test_help_is_quick_because_it_loads_nothing_that_a_command_needs() -> None:
    loaded = modules_loaded_by("from curator_cli.app import call; assert call(['--help']) == 0")
    assert not loaded & {"rich", "pydantic", "yaml", "fsspec", "pandas", "pyarrow.parquet"}


def test_help_lists_our_commands_and_those_of_plugins(curate: Curate) -> None:
    result = curate("--help")
    assert result.code == 0
    for name in COMMANDS:
        assert f"  {name} " in result.out
    assert "Plugin commands" in result.out
    assert re.search(r"trial +twice, hello, no-command", result.out)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_and_json(curate: Curate, command: str) -> None:
    result = curate(command, "--help")
    assert result.code == 0
    assert "--json" in result.out
    assert "--debug" in result.out


def test_a_command_of_a_plugin_runs(curate: Curate) -> None:
    assert curate("trial.hello", "world").out == "hello world\n"
    assert curate("trial", "hello", "world").out == "hello world\n"


def test_a_broken_command_of_a_plugin_leaves_the_help_of_the_others(curate: Curate) -> None:
    result = curate("trial", "--help")
    assert result.code == 0
    assert "Workflows and commands of curator-trial 1.2." in result.out
    assert re.search(r"twice +Repeats every", result.out)
    assert re.search(r"no-command +Is broken: command 'trial.no_command'", result.out)


def test_an_object_that_is_not_a_command_is_refused(curate: Curate) -> None:
    result = curate("trial.no_command")
    assert result.code == 2
    assert "is not a click command but a builtin_function_or_method" in result.err
    assert "decorate os:getcwd with @click.command()" in result.err


def test_a_mistyped_command_gets_a_suggestion(curate: Curate) -> None:
    result = curate("rnu")
    assert (result.code, result.out) == (2, "")
    assert result.err == "curate: no command named 'rnu' (did you mean run?); see curate --help\n"


def test_a_missing_argument_points_at_the_help(curate: Curate) -> None:
    assert curate("run").err == "curate: Missing argument 'RECIPE'; see curate run --help\n"


def test_every_problem_has_a_line_of_its_own_and_no_traceback(
    curate: Curate, workspace: Path
) -> None:
    recipe = (workspace / "recipe.yaml").read_text()
    (workspace / "recipe.yaml").write_text(
        recipe.replace("trial.long_enough", "trial.lnog_enough").replace("id: loud", "refusde: x")
    )
    result = curate("plan", "recipe.yaml")
    assert result.code == 2
    assert result.err.splitlines() == [
        "curate: recipe.yaml:8: no stage named 'trial.lnog_enough' "
        "(did you mean trial.long_enough?)",
        "curate: recipe.yaml:10: step 'upper' (trial.upper): no option named 'refusde' "
        "(did you mean refused?)",
    ]


def test_an_error_with_json_is_json_too(curate: Curate) -> None:
    result = curate("plan", "nowhere.yaml", "--json")
    error = result.json["error"]
    assert error["type"] == "InputError"
    assert error["exit_code"] == result.code == 2
    assert error["message"] in result.err


def test_debug_shows_the_traceback(curate: Curate) -> None:
    result = curate("plan", "nowhere.yaml", "--debug")
    assert "Traceback (most recent call last)" in result.err
    assert result.err.splitlines()[-1].startswith("curate: recipe 'nowhere.yaml' cannot be read")


def broken() -> None:
    raise LookupError("somewhere\ndeep down")


def test_an_unexpected_error_is_one_line(curate: Curate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("curator_cli.commands.doctor.diagnose", broken)
    result = curate("doctor")
    assert result.code == 1
    assert result.err == (
        "curate: LookupError: somewhere deep down (run again with --debug to see where)\n"
    )
    assert "in broken" in curate("doctor", "--debug").err


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (RunInterrupted("stopped by SIGTERM: 3 sources are done", 15), 143, "stopped by SIGTERM"),
        (RunInterrupted("stopped by SIGINT: 3 sources are done"), 130, "stopped by SIGINT"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)
def test_an_interruption_has_its_exit_code(
    curate: Curate, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, words: str
) -> None:
    def interrupted() -> None:
        raise error

    monkeypatch.setattr("curator_cli.commands.doctor.diagnose", interrupted)
    result = curate("doctor")
    assert result.code == code
    assert result.err.startswith(f"curate: {words}")


def test_sigterm_outside_a_run_is_reported_like_ctrl_c(
    curate: Curate, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[str] = []

    def terminated() -> None:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        finally:
            closed.append("what was open")

    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        monkeypatch.setattr("curator_cli.commands.doctor.diagnose", terminated)
        result = curate("doctor")
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGTERM, before)
    assert (result.code, result.err) == (143, "curate: interrupted by SIGTERM\n")
    assert closed == ["what was open"]


def test_main_exits_with_the_code() -> None:
    with pytest.raises(SystemExit) as leaving:
        main(["rnu"])
    assert leaving.value.code == 2


def test_a_closed_pipe_is_not_a_failure() -> None:
    reader = "import sys; sys.stdin.readline()"
    with subprocess.Popen(
        [*CURATE, "schema"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as writer:
        subprocess.run([sys.executable, "-c", reader], stdin=writer.stdout, check=True)
        assert writer.stdout is not None
        writer.stdout.close()
        assert writer.stderr is not None
        assert writer.stderr.read() == b""
    assert writer.returncode == 0


def test_the_version_is_that_of_core(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["--version"]) == 0
    assert capsys.readouterr().out == "curate, version 0.1.0\n"


def test_stages_that_do_not_load_do_not_hide_the_others(curate: Curate, workspace: Path) -> None:
    plugins.cache_clear()
    sys.modules["curator_trial_stages"] = None  # type: ignore[assignment]
    result = curate("stages", "--json")
    rows = {row["name"]: row for row in result.json}
    assert "does not load" in rows["trial.upper"]["broken"]
    assert rows["core.jsonl_reader"]["broken"] is None
    assert json.dumps(rows)


def test_curate_alone_shows_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as leaving:
        main([])
    assert leaving.value.code == 0
    assert "Get started:" in capsys.readouterr().out


def test_a_terminal_that_knows_no_arrows(workspace: Path) -> None:
    recipe = (workspace / "recipe.yaml").read_text().replace("Long words", "Long words → …")
    (workspace / "recipe.yaml").write_text(recipe, encoding="utf-8")
    ended = subprocess.run(
        [*CURATE, "plan", "recipe.yaml"],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
    )
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert ended.stdout.startswith(b"trial: Long words -> ... in capitals.")


def test_a_stdout_that_was_never_open(workspace: Path) -> None:
    command = ["sh", "-c", f"exec {shlex.join([*CURATE, 'plan', 'recipe.yaml'])} >&-"]
    ended = subprocess.run(command, stderr=subprocess.PIPE, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_an_interrupt_during_the_start_shows_no_traceback() -> None:
    """SIGINT arrives while the package is imported: the import itself sends it."""
    code = (
        "import os, signal, sys\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'curator_cli.app':\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupting())\n"
        "from curator_cli.__main__ import main\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")
