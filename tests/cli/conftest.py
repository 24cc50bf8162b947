"""A plugin with small stages, and recipes that use them, as a user would have them."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from curator_cli.app import call
from curator_core.plugins.registry import plugins

STAGES = '''
import time
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa
from curator_core import DocumentBatch, JsonlReader, JsonlWriter, Pipeline
from curator_core import ProcessingStage, Resources, Workflow


@dataclass
class LongEnough(ProcessingStage[DocumentBatch, DocumentBatch]):
    """Drops short texts."""

    min_chars: int = 5
    """The fewest characters a text may have."""

    def inputs(self):
        return ("text",)

    def process(self, task):
        texts = task.data.column("text").to_pylist()
        return task.keep([len(text) >= self.min_chars for text in texts], "too short")


@dataclass
class Upper(ProcessingStage[DocumentBatch, DocumentBatch]):
    """Writes capital letters, and refuses a word."""

    refused: str = ""
    seconds: float = 0.0

    def inputs(self):
        return ("text",)

    def process(self, task):
        time.sleep(self.seconds)
        texts = task.data.column("text").to_pylist()
        if self.refused and any(self.refused in text for text in texts):
            raise ValueError(f"the word {self.refused} is refused")
        position = task.data.column_names.index("text")
        upper = pa.array([text.upper() for text in texts])
        return task.with_data(task.data.set_column(position, "text", upper))


@dataclass
class Twice(Workflow):
    """Repeats every letter, twice over.

    In two pipelines.
    """

    input_path: str | list[str]
    output_path: str
    refused: str = ""
    """A word that is
    refused."""
    times: int = 2
    how: Literal["loud", "quiet"] = "loud"
    is_quick: bool = True
    resources: Resources = Resources(cpus=2)
    """What each worker gets."""
    name = "twice"

    @property
    def work_dir(self):
        return f"{self.output_path}/.curator/twice"

    def check(self):
        if self.times < 1:
            yield f"times is {self.times}, but must be 1 or more"

    def pipelines(self, result):
        middle = f"{self.work_dir}/middle"
        steps = [JsonlReader(self.input_path), Upper(self.refused), JsonlWriter(middle)]
        yield Pipeline("first", stages=steps, on_error="fail")
        steps = [JsonlReader(f"{middle}/*.jsonl"), Upper(), JsonlWriter(self.output_path)]
        yield Pipeline("second", stages=steps)
        result.metadata["records"] = result.runs["second"].stages["upper"].items_out


class OnGpu(ProcessingStage[DocumentBatch, DocumentBatch]):
    resources = Resources(gpus=64)

    def process(self, task):
        return task
'''

PLUGIN = """
import click
from curator_core.plugins.hookspecs import hookimpl


@hookimpl
def curator_stages():
    names = {"long_enough": "LongEnough", "upper": "Upper", "on_gpu": "OnGpu"}
    return {f"trial.{name}": f"curator_trial_stages:{kind}" for name, kind in names.items()}


@hookimpl
def curator_workflows():
    return {"trial.twice": "curator_trial_stages:Twice"}


@hookimpl
def curator_commands():
    return {"trial.hello": "curator_trial_plugin:hello", "trial.no_command": "os:getcwd"}


@click.command()
@click.argument("whom")
def hello(whom):
    click.echo(f"hello {whom}")
"""

RECIPE = """\
name: trial
description: Long words in capitals.
executor: {name: local, workers: 0}
input:
  stage: core.jsonl_reader
  file_paths: raw/*.jsonl
steps:
  - trial.long_enough
  - stage: trial.upper
    id: loud
output:
  stage: core.jsonl_writer
  path: out
"""


@pytest.fixture(scope="session")
def trial_modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trial")
    (folder / "curator_trial_stages.py").write_text(STAGES)
    (folder / "curator_trial_plugin.py").write_text(PLUGIN)
    facts = folder / "curator_trial-1.2.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: curator-trial\nVersion: 1.2\n")
    (facts / "entry_points.txt").write_text("[curator_core]\ntrial = curator_trial_plugin\n")
    return folder


@pytest.fixture
def workspace(
    trial_modules: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """The current folder, with `recipe.yaml` and three files of pages in `raw`."""
    monkeypatch.syspath_prepend(str(trial_modules))
    monkeypatch.setenv("PYTHONPATH", str(trial_modules))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setenv("CURATOR_EXECUTOR", "local")
    plugins.cache_clear()
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    (tmp_path / "raw").mkdir()
    for number, texts in enumerate([("lantern", "oak"), ("harbour", "window"), ("ash",)]):
        lines = "".join(json.dumps({"text": text}) + "\n" for text in texts)
        (tmp_path / "raw" / f"{number}.jsonl").write_text(lines)
    yield tmp_path
    plugins.cache_clear()
    for name in ("curator_trial_stages", "curator_trial_plugin"):
        sys.modules.pop(name, None)


class CommandResult:
    """Output and exit code of one command."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def json(self) -> "object":
        return json.loads(self.out)


@pytest.fixture
def curate(workspace: Path, capfd: pytest.CaptureFixture[str]) -> Callable[..., CommandResult]:
    """Calls `curate` in this process."""

    def called(*arguments: str) -> CommandResult:
        capfd.readouterr()
        code = call(list(arguments))
        sys.stdout.flush()
        out, err = capfd.readouterr()
        return CommandResult(code, out, err)

    return called
