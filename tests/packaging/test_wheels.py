"""Somebody who installs two packages gets these two, what they need, and nothing else."""

import json
import subprocess
import sys
import tomllib
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
PACKAGES = sorted(found.parent for found in REPOSITORY.glob("packages/**/pyproject.toml"))
PIP = (sys.executable, "-m", "pip")
MEGABYTE = 1_000_000

pytestmark = [pytest.mark.wheels, pytest.mark.timeout(600)]


def run(*command: str | Path, cwd: Path | None = None) -> str:
    words = [str(part) for part in command]
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def build_wheel(package: Path, folder: Path) -> Path:
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, cwd=package)
    [wheel] = folder.iterdir()
    return wheel


@dataclass
class Environment:
    """A virtual environment without even pip in it."""

    folder: Path

    def install(self, *wheels: Path) -> None:
        run(sys.executable, "-m", "venv", "--without-pip", self.folder)
        run(*PIP, "--python", self.python, "install", "--quiet", *wheels)

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    def curate(self, *arguments: str) -> str:
        return run(self.folder / "bin" / "curate", *arguments, cwd=self.folder)

    def distributions(self) -> set[str]:
        code = "import importlib.metadata as m; print(*(d.name for d in m.distributions()))"
        return {name.lower() for name in run(self.python, "-I", "-c", code).split()}

    def megabytes(self) -> float:
        [packages] = self.folder.glob("lib/python*/site-packages")
        return sum(path.stat().st_size for path in packages.rglob("*") if path.is_file()) / MEGABYTE


def environment_with(folder: Path, *packages: str) -> Environment:
    wheels = [build_wheel(REPOSITORY / "packages" / name, folder / name) for name in packages]
    environment = Environment(folder / "environment")
    environment.install(*wheels)
    return environment


@pytest.fixture(scope="module")
def core_and_text(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return environment_with(tmp_path_factory.mktemp("core_and_text"), "core", "models", "text")


@pytest.fixture(scope="module")
def cli_and_text(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    folder = tmp_path_factory.mktemp("cli_and_text")
    return environment_with(folder, "core", "report", "cli", "models", "text")


@pytest.fixture(scope="module")
def audio(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return environment_with(tmp_path_factory.mktemp("audio"), "core", "models", "dedup", "audio")


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_every_package_builds_a_pure_wheel(package: Path, tmp_path: Path) -> None:
    project = tomllib.loads((package / "pyproject.toml").read_text())["project"]
    name = project["name"].replace("-", "_")
    wheel = build_wheel(package, tmp_path)
    assert wheel.name == f"{name}-{project['version']}-py3-none-any.whl"
    archive = zipfile.ZipFile(wheel)
    files = archive.namelist()
    assert f"{name}/py.typed" in files
    metadata = f"{name}-{project['version']}.dist-info"
    assert "License-Expression: Apache-2.0" in archive.read(f"{metadata}/METADATA").decode()
    assert f"{metadata}/licenses/LICENSE" in files
    assert {file.partition("/")[0] for file in files} == {
        name,
        f"{name}-{project['version']}.dist-info",
    }


def test_wheel_of_reports_contains_the_templates(tmp_path: Path) -> None:
    package = REPOSITORY / "packages" / "report"
    files = zipfile.ZipFile(build_wheel(package, tmp_path)).namelist()
    templates = list((package / "src" / "curator_report" / "templates").iterdir())
    assert len(templates) > 5
    assert {f"curator_report/templates/{path.name}" for path in templates} <= set(files)


def test_core_and_text_bring_nothing_heavy(core_and_text: Environment) -> None:
    installed = core_and_text.distributions()
    assert {name for name in installed if name.startswith("curator-")} == {
        "curator-core",
        "curator-models",
        "curator-text",
    }
    assert not installed & {"ray", "torch", "transformers", "pandas"}
    assert not installed & {"click", "rich", "pydantic", "pyyaml"}


def test_core_and_text_are_small(core_and_text: Environment) -> None:
    megabytes = core_and_text.megabytes()
    print(f"curator-core and curator-text with what they need: {megabytes:.0f} MB of 300")
    assert megabytes <= 300


PYTHON_ONLY = """
import sys
from pathlib import Path
from curator_core import JsonlReader, JsonlWriter, LocalExecutor, Pipeline, PipelineError
from curator_text import WordCountFilter

folder = Path(sys.argv[1])
(folder / "in.jsonl").write_text('{"text": "one"}\\n' * 20)
reader, writer = JsonlReader(str(folder / "in.jsonl")), JsonlWriter(str(folder / "out"))
pipeline = Pipeline("only", stages=[reader, WordCountFilter(min_words=1), writer])
result = pipeline.run(LocalExecutor(workers=0))
print(result.status, len(result.files), result.to_arrow().num_rows)
print((Path(result.run_dir) / "run.json").exists(), (Path(result.run_dir) / "report.html").exists())
print(pipeline._repr_html_(), result._repr_html_())
try:
    pipeline.to_yaml()
except PipelineError as error:
    print(error)
"""


def test_the_python_api_is_complete_without_command_and_reports(
    core_and_text: Environment, tmp_path: Path
) -> None:
    lines = run(core_and_text.python, "-I", "-c", PYTHON_ONLY, tmp_path).splitlines()
    assert lines[:3] == ["done 1 20", "True False", "None None"]
    assert "pip install curator-cli" in lines[3]


LOGGING = """
import logging, time
from curator_core import LocalExecutor, Pipeline, Task, processing_stage
from curator_core.run.progress_log import ProgressLog

logging.basicConfig(level=logging.INFO, format="%(message)s")

@processing_stage(name="slow")
def slow(task: Task[int]) -> Task[int]:
    time.sleep(0.3)
    return task

tasks = [Task(n) for n in range(6)]
lines = [ProgressLog(interval_s=0.5)]
Pipeline("slow", stages=[slow]).run(LocalExecutor(workers=0), tasks, observers=lines)
"""


def test_core_alone_logs_lines_about_progress(core_and_text: Environment) -> None:
    done = subprocess.run(
        [core_and_text.python, "-I", "-c", LOGGING], capture_output=True, text=True, check=True
    )
    lines = [line for line in done.stderr.splitlines() if line.startswith("slow: ")]
    assert len(lines) >= 3
    assert "1 source done" in lines[0]
    assert "slow: 6 sources in" in lines[-1]


def test_the_command_works(cli_and_text: Environment) -> None:
    assert "run" in cli_and_text.curate("--help")
    plugins = cli_and_text.curate("plugins")
    assert "curator-core" in plugins
    assert "curator-text" in plugins


def test_audio_brings_no_torch_and_is_small(audio: Environment) -> None:
    assert not audio.distributions() & {"ray", "torch", "torchaudio", "transformers", "pandas"}
    megabytes = audio.megabytes()
    print(f"curator-audio with what it needs: {megabytes:.0f} MB of 450")
    assert megabytes <= 450


LISTEN = """
import math, struct, sys, wave
from pathlib import Path
from curator_audio import AudioFolderReader, AudioMeasurer, ManifestReader, SegmentWriter, SnrFilter
from curator_core import LocalExecutor, Pipeline

folder = Path(sys.argv[1])
(folder / "in").mkdir()
with wave.open(str(folder / "in" / "a.wav"), "wb") as file:
    file.setparams((1, 2, 44_100, 0, "NONE", ""))
    loud = [round(9_000 * math.sin(n / 20)) if n % 20_000 < 15_000 else 0 for n in range(132_300)]
    file.writeframes(struct.pack(f"<{len(loud)}h", *loud))
first = [AudioFolderReader(str(folder / "in")), AudioMeasurer(), SnrFilter(score_field="snr"),
         SegmentWriter(str(folder / "flac"))]
Pipeline("first", stages=first).run(LocalExecutor())
second = [ManifestReader(str(folder / "flac")), AudioMeasurer(),
          SegmentWriter(str(folder / "wav"), "wav")]
Pipeline("second", stages=second).run(LocalExecutor())
"""


def test_audio_reads_measures_and_writes_without_torch(audio: Environment, tmp_path: Path) -> None:
    run(audio.python, "-I", "-c", LISTEN, tmp_path)
    [file] = tmp_path.glob("wav/audio/*.wav")
    [line] = next(tmp_path.glob("wav/*.jsonl")).read_text().splitlines()
    facts = json.loads(line)
    assert (facts["duration"], facts["sample_rate"]) == (3.0, 16_000)
    assert facts["loudness_lufs"] < 0
    assert file.stat().st_size == 44 + 2 * 48_000
