"""What contributors are given works: the workflow, the hooks, templates and the citation file."""

import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

REPOSITORY = Path(__file__).parents[2]
WORKFLOW = yaml.safe_load((REPOSITORY / ".github/workflows/ci.yml").read_text())
HATCH = tomllib.loads((REPOSITORY / "hatch.toml").read_text())["envs"]
COMMANDS = [
    step["run"] for job in WORKFLOW["jobs"].values() for step in job["steps"] if "run" in step
]
PRE_COMMIT = yaml.safe_load((REPOSITORY / ".pre-commit-config.yaml").read_text())
HOOKS = [hook for repo in PRE_COMMIT["repos"] for hook in repo["hooks"]]
FORMS = sorted((REPOSITORY / ".github/ISSUE_TEMPLATE").glob("*.yml"))


def test_linux_runs_what_a_change_must_pass() -> None:
    job = WORKFLOW["jobs"]["everything"]
    assert job["runs-on"].startswith("ubuntu")
    assert ".ci/run" in [step.get("run") for step in job["steps"]]


def test_the_workflow_names_folders_that_exist() -> None:
    words = [word for command in COMMANDS for word in shlex.split(command)]
    paths = [word for word in words if word.startswith(("packages/", "tests/", ".ci/"))]
    assert len(paths) > 10
    assert [path for path in paths if not (REPOSITORY / path).exists()] == []


def test_light_jobs_cover_macos_and_windows() -> None:
    systems = WORKFLOW["jobs"]["light"]["strategy"]["matrix"]["os"]
    assert {name.partition("-")[0] for name in systems} == {"macos", "windows"}


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook["id"])
def test_hooks_run_commands_of_the_environment(hook: dict[str, Any]) -> None:
    program, *words = shlex.split(hook["entry"])
    assert (program, hook["language"]) == ("hatch", "system")
    environment = words[words.index("-e") + 1] if "-e" in words else "default"
    command = words[words.index("run") + 1]
    known = {*HATCH[environment].get("scripts", {}), "ruff"}
    assert command in known


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.stem)
def test_forms_for_issues_ask_something(form: Path) -> None:
    found = yaml.safe_load(form.read_text())
    if form.stem == "config":
        assert found["blank_issues_enabled"] in (True, False)
        return
    assert {"name", "description", "body"} <= set(found)
    ids = [item["id"] for item in found["body"] if item["type"] != "markdown"]
    assert len(ids) == len(set(ids)) >= 3


def test_the_citation_has_the_version_and_licence_of_core() -> None:
    cited = yaml.safe_load((REPOSITORY / "CITATION.cff").read_text())
    core = tomllib.loads((REPOSITORY / "packages/core/pyproject.toml").read_text())["project"]
    assert (cited["version"], cited["license"]) == (core["version"], core["license"])


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", ".github/pull_request_template.md",
                                  "docs/extending/releasing.md", "docs/benchmarks.md"])  # fmt: skip
def test_commands_of_hatch_exist(page: str) -> None:
    named = set(re.findall(r"hatch run ([\w:-]+)", (REPOSITORY / page).read_text()))
    scripts = {
        f"{name}:{script}" for name, env in HATCH.items() for script in env.get("scripts", {})
    }
    scripts |= set(HATCH["default"]["scripts"])
    assert named - {"bench:NAME"} - scripts == set()
