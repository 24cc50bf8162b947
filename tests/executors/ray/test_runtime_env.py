"""Problems of a runtime_env are reported before anything is started."""

import pytest
from curator_core import Pipeline, Task
from curator_core.plan.plan import Plan
from curator_core.testing.contract.stages import Rests
from curator_ray.runtime_env import runtime_env_problems

pytest.importorskip("ray")


def plan_with(*environments: dict[str, object] | None) -> Plan:
    stages = [Rests(0).with_(name=f"s{n}", runtime_env=e) for n, e in enumerate(environments)]
    return Pipeline("p", stages=stages).build(tasks=[Task(1)])


class TestRuntimeEnvProblems:
    def test_no_problem(self) -> None:
        plan = plan_with(None, {"env_vars": {"A": "b"}}, {"pip": ["numpy"]})
        assert list(runtime_env_problems(plan)) == []

    def test_an_unknown_field_that_ray_would_ignore(self) -> None:
        [problem] = runtime_env_problems(plan_with(None, {"env_varz": {"A": "b"}}))
        assert "stage 2 's1'" in problem
        assert "'env_varz'" in problem
        assert "did you mean env_vars?" in problem

    def test_plugins_may_add_fields(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("RAY_RUNTIME_ENV_PLUGINS", '[{"class": "mine.Plugin"}]')
        assert list(runtime_env_problems(plan_with({"mine": {}}))) == []

    def test_problems_that_ray_finds(self) -> None:
        [problem] = runtime_env_problems(plan_with({"working_dir": "/nowhere/at/all"}))
        assert "stage 1 's0' has a runtime_env that Ray refuses (ValueError: /nowhere" in problem
