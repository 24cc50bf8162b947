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


@pytest.fixture(scope="module")
def core_and_text(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    folder = tmp_path_factory.mktemp("core_and_text")
    wheels = [
        build_wheel(REPOSITORY / "packages" / name, folder / name)
        for name in ("core", "models", "text")
    ]
    environment = Environment(folder / "environment")
    environment.install(*wheels)
    return environment


@pytest.fixture(scope="module")
def audio(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    folder = tmp_path_factory.mktemp("audio")
    wheels = [
        build_wheel(REPOSITORY / "packages" / name, folder / name)
        for name in ("core", "models", "dedup", "audio")
    ]
    environment = Environment(folder / "environment")
    environment.install(*wheels)
    return environment


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
    # The script `curate` begins in a module of its own, before anything else is imported.
    alone = {"_curate.py"} if name == "curator_core" else set()
    assert {file.partition("/")[0] for file in files} == {
        name,
        f"{name}-{project['version']}.dist-info",
        *alone,
    }


def test_core_and_text_bring_nothing_heavy(core_and_text: Environment) -> None:
    installed = core_and_text.distributions()
    assert {name for name in installed if name.startswith("curator-")} == {
        "curator-core",
        "curator-models",
        "curator-text",
    }
    assert not installed & {"ray", "torch", "transformers", "pandas"}


def test_core_and_text_are_small(core_and_text: Environment) -> None:
    megabytes = core_and_text.megabytes()
    print(f"curator-core and curator-text with what they need: {megabytes:.0f} MB of 300")
    assert megabytes <= 300


def test_the_command_works(core_and_text: Environment) -> None:
    assert "run" in core_and_text.curate("--help")
    plugins = core_and_text.curate("plugins")
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
