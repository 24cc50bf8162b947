"""A secret never appears: all places that show text are searched for its value."""

import json
import logging
import pickle
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import pytest
from curator_cli.options import recipe_text
from curator_cli.recipes import (
    Recipe,
    Secret,
    apply_settings,
    load_recipe,
    pipeline_from_yaml,
    pipeline_to_yaml,
    redact,
    secret,
)
from curator_cli.recipes.help import stage_help
from curator_cli.recipes.options import options_of
from curator_core import DocumentBatch, Executor, Pipeline, ProcessingStage
from curator_core.errors import PipelineError
from curator_core.execution.run_stages import unchecked_plan
from curator_core.model.secrets import is_credential, mask_argument, mask_secrets
from curator_core.plugins.hookspecs import hookimpl
from curator_core.plugins.registry import Plugins
from curator_core.run.directory import describe_run
from hypothesis import given
from hypothesis import strategies as st

CANARY = 'canary/"7f3a\\9é+pässword'


@dataclass(frozen=True)
class Login:
    user: str = ""
    code: str = ""


@dataclass
class Fetch(ProcessingStage[DocumentBatch, DocumentBatch]):
    key: str = ""
    size: int = 0
    place: Path | None = None
    headers: dict[str, list[str]] = field(default_factory=dict)
    login: Login = Login()
    storage_options: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        if self.size < 0:
            raise ValueError(f"{self.key!r} and {self.login.code} do not like {self.size}")


@dataclass
class Cut(ProcessingStage[DocumentBatch, DocumentBatch]):
    token: Literal["words", "characters"] | None = "words"
    api_key: str = "default-key"

    def process(self, task: DocumentBatch) -> DocumentBatch:
        return task


@dataclass
class Remote(Executor):
    token: str = ""

    def __post_init__(self) -> None:
        if self.token.startswith("Bad"):
            raise ValueError(f"refused {self.token}")

    def execute(self, plan: Any, run: Any) -> Any:
        return iter(())


@pytest.fixture(scope="module")
def found() -> Plugins:
    made = Plugins()
    plugin = SimpleNamespace(
        curator_stages=hookimpl(
            lambda: {"t.fetch": f"{__name__}:Fetch", "t.cut": f"{__name__}:Cut"},
            specname="curator_stages",
        ),
        curator_executors=hookimpl(
            lambda: {"t.remote": f"{__name__}:Remote"}, specname="curator_executors"
        ),
    )
    made.register("t", plugin)
    return made


@pytest.fixture(autouse=True)
def canary(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY", CANARY)
    monkeypatch.setenv("PLAIN", "shown")
    monkeypatch.setenv("CURATOR_RECIPE_ENV", "CANARY,PLAIN")


STEP = """
name: x
executor: {name: remote, token: 'Good ${secret:CANARY}'}
steps:
- stage: t.fetch
  key: ${secret:CANARY}
  headers: {Authorization: ['Bearer ${secret:CANARY} at ${env:PLAIN}']}
  login: {user: me, code: '${secret:CANARY}'}
"""


@pytest.fixture
def recipe(found: Plugins) -> Recipe:
    return load_recipe(STEP, plugins=found)


def forms(value: str) -> list[str]:
    return [value, repr(value)[1:-1], json.dumps(value)[1:-1],
            json.dumps(value, ensure_ascii=False)[1:-1]]  # fmt: skip


def shows(text: str) -> bool:
    return any(form in text for form in forms(CANARY))


def test_the_stage_itself_gets_the_secret(recipe: Recipe) -> None:
    [stage] = recipe.stages
    assert isinstance(stage, Fetch)
    assert stage.key == CANARY
    assert f"{stage.key}" == CANARY
    assert stage.login.code == CANARY
    assert stage.headers == {"Authorization": [f"Bearer {CANARY} at shown"]}
    executor = recipe.executor()
    assert isinstance(executor, Remote)
    assert executor.token == f"Good {CANARY}"


def test_no_repr_shows_it(recipe: Recipe) -> None:
    [stage] = recipe.stages
    texts = [repr(recipe), repr(stage), repr(recipe.pipeline()), repr(recipe.executor()),
            repr(recipe.document), repr(recipe.steps), repr(vars(stage))]  # fmt: skip
    assert not any(shows(text) for text in texts)
    assert "key='${secret:CANARY}'" in repr(stage)
    assert "'Bearer ${secret:CANARY} at ${env:PLAIN}'" in repr(stage)


def test_it_is_written_as_it_was_named(recipe: Recipe, found: Plugins) -> None:
    text = pipeline_to_yaml(recipe.pipeline(), found)
    assert not shows(text)
    assert text.count("${secret:CANARY}") == 3
    assert pipeline_from_yaml(text, found) == recipe.pipeline()


def test_it_survives_pickling(recipe: Recipe) -> None:
    [stage] = pickle.loads(pickle.dumps(recipe.stages))
    assert stage.key == CANARY
    assert not shows(repr(stage))


@pytest.mark.parametrize(
    "lines",
    [
        "size: ${secret:CANARY}",
        "size: few\n  key: ${secret:CANARY}",
        "size: -1\n  key: ${secret:CANARY}\n  login: {code: '${secret:CANARY}'}",
        "keey: ${secret:CANARY}",
        "headers: ${secret:CANARY}",
        "login: {cod: '${secret:CANARY}'}",
        "login: '${secret:CANARY}'",
        "retries: ${secret:CANARY}",
        "on_error: ${secret:CANARY}",
        "storage_options: {a: 1}\n  batch_size: 0\n  key: ${secret:CANARY}",
    ],
)
def test_errors_never_contain_the_secret(lines: str, found: Plugins) -> None:
    with pytest.raises(PipelineError) as caught:
        load_recipe(f"name: x\nsteps:\n- stage: t.fetch\n  {lines}\n", plugins=found)
    assert not shows(str(caught.value))
    assert not shows(repr(caught.value))
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ("name: ${secret:CANARY}", "<recipe>:1"),
        ("description: a ${secret:CANARY}", "<recipe>:1"),
        ("run: {run_dir: '${secret:CANARY}'}", "<recipe>:1"),
        ("errors: {on_error: '${secret:CANARY}'}", "<recipe>:1"),
    ],
)
def test_it_is_refused_where_it_would_be_shown(line: str, place: str, found: Plugins) -> None:
    with pytest.raises(PipelineError) as caught:
        load_recipe(f"{line}\nsteps: [t.fetch]\n", plugins=found)
    assert str(caught.value) == (
        f"{place}: ${{secret:CANARY}} would be shown here; secrets belong in options of stages"
    )


def test_it_is_not_shown_by_an_executor_that_refuses_it(found: Plugins) -> None:
    recipe = load_recipe(
        "steps: [t.fetch]\nexecutor: {name: remote, token: 'Bad ${secret:CANARY}'}\n", plugins=found
    )
    with pytest.raises(PipelineError) as caught:
        recipe.executor()
    assert not shows(str(caught.value))
    assert caught.value.__context__ is None
    assert str(caught.value).startswith("<recipe>:2: executor: refused ")


def test_a_setting_may_name_it(recipe: Recipe) -> None:
    changed = apply_settings(recipe, ["steps.fetch.key=${secret:CANARY}!"])
    [stage] = changed.stages
    assert isinstance(stage, Fetch)
    assert stage.key == f"{CANARY}!"
    assert "key='${secret:CANARY}!'" in repr(stage)


def test_a_missing_or_tiny_secret(found: Plugins, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TINY", "abc")
    monkeypatch.setenv("CURATOR_RECIPE_ENV", "TINY")
    steps = [f"- {{stage: t.fetch, key: '${{secret:{name}}}'}}" for name in ("TINY", "NO_7")]
    text = "\n".join(["steps:", *steps])
    with pytest.raises(PipelineError) as caught:
        load_recipe(text, plugins=found)
    assert caught.value.problems == [
        "<recipe>:2: the secret in 'TINY' has fewer than 4 characters, too few to be hidden; "
        "use ${env:TINY} if it is not a secret",
        "<recipe>:3: the environment variable 'NO_7' is not set",
    ]


def test_redact_masks_it_in_every_form(recipe: Recipe) -> None:
    from urllib.parse import quote

    for form in [*forms(CANARY), quote(CANARY, safe="")]:
        assert redact(f"a {form} b") == "a ${secret:CANARY} b"
    log = redact(json.dumps({"options": {"key": CANARY}}))
    assert json.loads(log) == {"options": {"key": "${secret:CANARY}"}}


def test_a_plan_written_down_shows_nothing(recipe: Recipe) -> None:
    from curator_core.plan.plan import stage_options

    [stage] = recipe.stages
    assert not shows(redact(json.dumps(stage_options(stage))))
    assert not shows(json.dumps(mask_secrets(stage_options(stage))))


def test_lines_of_a_long_secret_are_masked_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PEM", "-----BEGIN-----\nMIIEowIBAAKCAQEA1\nend")
    assert secret("PEM").splitlines()[1] == "MIIEowIBAAKCAQEA1"
    assert redact("line MIIEowIBAAKCAQEA1 of the file, to the end") == (
        "line ${secret:PEM} of the file, to the end"
    )


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://me:pw@host/x", "https://***@host/x"),
        ("read s3://AKIA:se@cret@host:80/x failed", "read s3://***@host:80/x failed"),
        ('{"path": "ftp://u:p@h"}', '{"path": "ftp://***@h"}'),
        ("https://token@host/x", "https://***@host/x"),
        ("https://host/a@b", "https://host/a@b"),
        ("mail me@host", "mail me@host"),
        ("https://h/x?sig=abc%3D&a=1", "https://h/x?sig=***&a=1"),
        ("https://h/x?X-Amz-Signature=abc", "https://h/x?X-Amz-Signature=***"),
        ("https://h/x?a=1&token=abc", "https://h/x?a=1&token=***"),
    ],
)
def test_credentials_in_urls_are_masked(text: str, shown: str) -> None:
    assert redact(text) == shown


@given(st.text())
def test_redact_is_idempotent(text: str) -> None:
    assert redact(redact(text)) == redact(text)


def test_redact_is_fast_on_long_texts() -> None:
    import time

    started = time.process_time()
    for text in ("a." * 300_000, "a://" * 100_000, "?token" * 100_000, "@" * 300_000):
        redact(text)
    assert time.process_time() - started < 5


def test_values_named_like_a_credential_are_masked() -> None:
    options = {"storage_options": {"secret": "abc", "key": "k", "anon": False, "token": ""},
               "paths": ["s3://u:p@h/x"], "password": "x", "text_field": "token"}  # fmt: skip
    assert mask_secrets(options) == {
        "storage_options": {"secret": "***", "key": "k", "anon": False, "token": ""},
        "paths": ["s3://***@h/x"],
        "password": "***",
        "text_field": "token",
    }


def test_which_names_are_those_of_credentials() -> None:
    yes = ["secret", "password", "hf_token", "aws_secret_access_key", "account_key", "API_KEY"]
    no = ["max_tokens", "tokenizer", "token_field", "key", "keys", "eos_token", "secretary"]
    assert all(map(is_credential, yes))
    assert not any(map(is_credential, no))


def test_a_pipeline_with_a_bare_credential_is_not_written(found: Plugins) -> None:
    stages = [
        Fetch(storage_options={"secret": "abc"}),
        Fetch(headers={"x": ["https://me:pw@host"]}).with_(name="two"),
        Fetch(storage_options={"secret": secret("CANARY")}).with_(name="three"),
        Fetch(headers={"x": [f"Bearer {CANARY}"]}).with_(name="four"),
    ]
    with pytest.raises(PipelineError) as caught:
        pipeline_to_yaml(Pipeline("x", stages=stages), found)
    assert caught.value.problems == [
        "stage 'fetch': option storage_options cannot be written: secret is a credential; "
        "take it from secret('VARIABLE')",
        "stage 'two': option headers cannot be written: there is a credential in it; "
        "take it from secret('VARIABLE')",
        "stage 'four': option headers cannot be written: there is a credential in it; "
        "take it from secret('VARIABLE')",
    ]


def test_the_default_of_an_option_is_not_a_secret(found: Plugins) -> None:
    """An option may be called token and mean words; other values of it stay hidden."""
    defaults = {option.name: option.default for option in stage_help("t.cut", found).options}
    assert defaults == {"token": "words", "api_key": "***"}
    text = pipeline_to_yaml(Pipeline("x", stages=[Cut(token="characters")]), found)
    assert "token: characters" in text
    recipe_yaml = "name: x\nsteps:\n- {stage: t.cut, token: characters, api_key: abcdef}\n"
    kept = recipe_text(load_recipe(recipe_yaml, plugins=found))  # with which a run is retried
    assert "token: characters" in kept
    assert "api_key: '***'" in kept
    token = options_of(Cut).options["token"]
    assert [token.shown(value) for value in ("words", None, "hf_Abc", ["words"])] == [
        "words", None, "***", ["***"],
    ]  # fmt: skip
    mistaken: Any = "hf_Abc"
    with pytest.raises(PipelineError, match="token cannot be written: token is a credential; take"):
        pipeline_to_yaml(Pipeline("x", stages=[Cut(token=mistaken)]), found)
    with pytest.raises(PipelineError, match=r"token must be .* but is \*\*\*"):
        load_recipe("name: x\nsteps:\n- {stage: t.cut, token: hf_Abc}\n", plugins=found)


def test_secrets_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TINY", "abc")
    assert isinstance(secret("CANARY"), Secret)
    with pytest.raises(PipelineError, match="variable 'NO_7' of a secret is not set"):
        secret("NO_7")
    with pytest.raises(PipelineError, match="'TINY' has fewer than 4 characters"):
        secret("TINY")


def test_nothing_of_it_is_logged(
    recipe: Recipe, found: Plugins, caplog: pytest.LogCaptureFixture, capfd: Any
) -> None:
    with caplog.at_level(logging.DEBUG):
        load_recipe(STEP, plugins=found).pipeline().describe()
    printed = capfd.readouterr()
    assert not shows(caplog.text + printed.out + printed.err)


@pytest.mark.parametrize(
    "name",
    ["X-Api-Key", "x-api-key", "Authorization", "Cookie", "X-Auth-Token", "api_key", "hf_token"],
)
def test_names_of_headers_and_options_that_hold_keys(name: str) -> None:
    assert is_credential(name)


@pytest.mark.parametrize(
    ("argument", "shown"),
    [
        ("a.headers={X-Api-Key: abc, Accept: b}", "a.headers={X-Api-Key: ***, Accept: b}"),
        ("input.headers={'Authorization': 'Bearer abc'}", "input.headers={'Authorization': '***'}"),
        ("input.headers.X-Api-Key=abc", "input.headers.X-Api-Key=***"),
        ("steps.a.token=${secret:T}", "steps.a.token=${secret:T}"),
        ("--set=input.token=abc", "--set=input.token=***"),
        ("steps.a.min_words=3", "steps.a.min_words=3"),
        ("https://a:b@c/d", "https://***@c/d"),
    ],
)  # fmt: skip
def test_a_command_line_is_shown_without_keys(argument: str, shown: str) -> None:
    assert mask_argument(argument) == shown


def test_a_run_directory_has_no_key_of_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["curate", "run", "--set", "a.headers={X-Api-Key: hush-hush}"])
    texts = describe_run(unchecked_plan([Fetch("u")], "fail"), "local")
    assert "hush-hush" not in str(texts)
