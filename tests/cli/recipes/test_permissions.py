"""Permissions of recipes are set outside of them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from curator_cli.recipes import Permissions, apply_settings, load_recipe
from curator_cli.recipes.problems import Document
from curator_core import (
    CompositeStage,
    DocumentBatch,
    Executor,
    PipelineError,
    ProcessingStage,
    Workflow,
)
from curator_core.model.stages import AnyStage
from curator_core.plugins.hookspecs import hookimpl
from curator_core.plugins.registry import Plugins


@dataclass
class Keep(ProcessingStage[DocumentBatch, DocumentBatch]):
    path: Any = None
    storage_options: dict[str, Any] = field(default_factory=dict)
    note: str = ""
    key_variable: str | None = None
    trust_remote_code: bool = False


@dataclass
class Pickled(ProcessingStage[DocumentBatch, DocumentBatch]):
    model: str = "a model"

    def untrusted_code(self) -> Iterator[str]:
        yield f"{self.model} is a pickle"


@dataclass
class Both(CompositeStage[DocumentBatch, DocumentBatch]):
    def decompose(self) -> Sequence[AnyStage]:
        return [Keep(), Pickled()]


@dataclass
class Cluster:
    address: str | None = None
    size: int = 1


@dataclass
class Far(Executor):
    config: Cluster | None = None

    def execute(self, plan: Any, run: Any) -> Any:
        return iter(())


@dataclass
class Work(Workflow):
    path: str = ""

    def pipelines(self) -> Any:
        return ()


USUAL = ["file", "local", "http", "https", "s3", "gs", "gcs", "az", "abfs", "abfss", "hf"]
STAGES = {f"t.{name.lower()}": f"{__name__}:{name}" for name in ("Keep", "Pickled", "Both")}


@pytest.fixture(scope="module")
def found() -> Plugins:
    made = Plugins()
    plugin = SimpleNamespace(
        curator_stages=hookimpl(lambda: STAGES, specname="curator_stages"),
        curator_executors=hookimpl(
            lambda: {"t.far": f"{__name__}:Far"}, specname="curator_executors"
        ),
        curator_workflows=hookimpl(
            lambda: {"t.work": f"{__name__}:Work"}, specname="curator_workflows"
        ),
    )
    made.register("t", plugin)
    return made


@pytest.fixture(autouse=True)
def variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY", "sings-loudly")
    for name in ("CURATOR_TRUST_CODE", "CURATOR_RECIPE_ENV"):
        monkeypatch.delenv(name, raising=False)


def step(options: str) -> str:
    return f"name: x\nsteps:\n- stage: t.keep\n  {options}\n"


def refusal(text: str, found: Plugins, permissions: Permissions | None = None) -> str:
    with pytest.raises(PipelineError) as caught:
        load_recipe(text, plugins=found, permissions=permissions)
    (problem,) = caught.value.problems
    return problem


class TestProtocols:
    @pytest.mark.parametrize(
        ("option", "protocol"),
        [
            ("path: 'reference://*.jsonl::refs.json'", "reference"),
            ("path: 'reference::refs.json'", "reference"),
            ("path: 'REFERENCE://x'", "reference"),
            ("path: 'simplecache::s3://bucket/x'", "simplecache"),
            ("path: ['a.jsonl', 'ftp://host/x']", "ftp"),
            ("path: 'memory://x'", "memory"),
            ("path: 's3://bucket/a::dask://b'", "dask"),
            ("storage_options: {reference: {simple_templates: false}}", "reference"),
            ("storage_options: {protocol: reference}", "reference"),
            ("storage_options: {s3: {target_protocol: ftp}}", "ftp"),
            ("storage_options: {fo: 'ftp://host/x'}", "ftp"),
        ],
    )
    def test_unusual_ones_need_permission(self, option: str, protocol: str, found: Plugins) -> None:
        message = refusal(step(option), found)
        assert message.startswith("<recipe>:4: step 'keep' (t.keep): ")
        assert f"--allow-protocol {protocol}" in message
        allowed = Permissions(protocols=frozenset({protocol, "s3"}))
        load_recipe(step(option), plugins=found, permissions=allowed)

    @pytest.mark.parametrize(
        "option",
        [
            *(f"path: '{protocol}://a/b'" for protocol in USUAL),
            "path: 's3://a::file://b'",
            "path: '/a/b.jsonl'",
            "note: 'std::vector, and ratios of 1::2, x://y'",
            "storage_options: {key: value, client_kwargs: {endpoint_url: 'http://store'}}",
        ],
    )  # fmt: skip
    def test_usual_ones_do_not(self, option: str, found: Plugins) -> None:
        load_recipe(step(option), plugins=found)

    def test_values_of_environment_variables_are_checked(
        self, found: Plugins, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("CANARY", "ftp://host")
        allowed = Permissions(variables=frozenset({"CANARY"}))
        assert "--allow-protocol ftp" in refusal(step("path: '${env:CANARY}/x'"), found, allowed)

    @pytest.mark.parametrize(
        "text",
        [
            "workflow: t.work\noptions: {path: 'ftp://host/x'}\n",
            "steps: [t.keep]\nrun: {run_dir: 'ftp://host/x'}\n",
        ],
    )
    def test_all_parts_of_a_recipe_are_checked(self, text: str, found: Plugins) -> None:
        assert "--allow-protocol ftp" in refusal(f"name: x\n{text}", found)

    def test_a_description_may_name_anything(self, found: Plugins) -> None:
        load_recipe("name: x\ndescription: what ftp://host had\nsteps: [t.keep]\n", plugins=found)


class TestVariables:
    @pytest.mark.parametrize(
        "option",
        ["path: 'http://host/?${env:CANARY}'", "note: '${secret:CANARY}'", "key_variable: CANARY"],
    )
    def test_only_named_variables_are_read(self, option: str, found: Plugins) -> None:
        message = refusal(step(option), found)
        assert message.startswith("<recipe>:4: ")
        assert "--env CANARY" in message
        assert "sings" not in message
        assert "--env" in refusal(step(option), found, Permissions(variables=frozenset({"A"})))
        allowed = Permissions(variables=frozenset({"CANARY"}))
        load_recipe(step(option), plugins=found, permissions=allowed)

    def test_the_environment_may_name_them(
        self, found: Plugins, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("CURATOR_RECIPE_ENV", "OTHER, CANARY")
        load_recipe(step("note: '${env:CANARY}'"), plugins=found)

    def test_the_description_reads_none_either(self, found: Plugins) -> None:
        message = refusal("name: x\ndescription: '${env:CANARY}'\nsteps: [t.keep]\n", found)
        assert "--env CANARY" in message


class TestCode:
    @pytest.mark.parametrize(
        ("stage", "message"),
        [
            ("{stage: t.keep, trust_remote_code: true}", "trust_remote_code"),
            ("t.pickled", "a model is a pickle"),
            ("t.both", "a model is a pickle"),
        ],
    )
    def test_needs_permission(
        self, stage: str, message: str, found: Plugins, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        text = f"name: x\nsteps:\n- {stage}\n"
        problem = refusal(text, found)
        assert problem.startswith("<recipe>:3: step ")
        assert message in problem
        assert "--trust-code" in problem
        load_recipe(text, plugins=found, permissions=Permissions(trust_code=True))
        monkeypatch.setenv("CURATOR_TRUST_CODE", "1")
        load_recipe(text, plugins=found)

    @pytest.mark.parametrize("options", ["address: 'ray://a:1'", "config: {address: 'ray://a:1'}"])
    def test_of_a_cluster_needs_permission(self, options: str, found: Plugins) -> None:
        text = f"name: x\nsteps: [t.keep]\nexecutor:\n  name: t.far\n  {options}\n"
        problem = refusal(text, found)
        assert problem.startswith("<recipe>:5: ")
        assert "--trust-code" in problem
        load_recipe(text, plugins=found, permissions=Permissions(trust_code=True))

    def test_a_cluster_may_be_set_from_outside(self, found: Plugins) -> None:
        text = "name: x\nsteps: [t.keep]\nexecutor: {name: t.far, size: 2}\n"
        load_recipe(text, ["executor.address=ray://a:1"], plugins=found)


def test_options_set_from_outside_need_no_permission(found: Plugins) -> None:
    settings = ["steps.keep.path=ftp://host/x", "steps.keep.note=${env:CANARY}"]
    recipe = load_recipe(step("note: y"), settings, plugins=found)
    assert recipe.steps[0].values["note"] == "${env:CANARY}"


def test_settings_leave_the_rest_of_a_recipe_as_it_was(found: Plugins) -> None:
    with pytest.raises(PipelineError, match="--allow-protocol ftp"):
        load_recipe(step("path: 'ftp://host/x'"), ["steps.keep.note=a"], plugins=found)


def test_settings_keep_the_permissions(found: Plugins) -> None:
    allowed = Permissions(protocols=frozenset({"ftp"}))
    recipe = load_recipe(step("path: 'ftp://host/x'"), plugins=found, permissions=allowed)
    assert apply_settings(recipe, ["steps.keep.note=a"]).permissions == allowed


def test_a_command_line_is_not_a_recipe() -> None:
    place = Document("command line", {}, {(): "t.work", ("options", "path"): "--path"})
    assert not place.is_from_file(("options", "path"))
