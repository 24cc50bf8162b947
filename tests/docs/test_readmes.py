"""What READMEs and manuals show is run as a reader would: saved to a file, in a folder of data."""

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from cpukit import one_cpu
from curator_cli.app import call
from curator_cli.recipes import Permissions, load_recipe
from curator_core import PipelineError

REPOSITORY = Path(__file__).parents[2]
READMES = sorted(
    file
    for pattern in ("*.md", "docs/**/*.md", "examples/**/*.md", "packages/**/README.md")
    for file in REPOSITORY.glob(pattern)
)
FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROSE = (
    "The harbour was quiet in the early morning, and the boats lay still on the water. A woman "
    "with a basket came down to the quay to see what the night had brought, as she had done on "
    "every day of the last forty years. There was not much to be had: a few herrings, a crab, and "
    "the news that the ferry would be late again because of the fog that lay over the sound."
)


def pages(folder: Path, ending: str = ".jsonl") -> None:
    """Three pages in English that every rule keeps, and one that is too short for any."""
    folder.mkdir()
    texts = [*(f"Day {number}. {PROSE}" for number in range(3)), "Menu"]
    lines = "".join(json.dumps({"text": text}) + "\n" for text in texts).encode()
    content = gzip.compress(lines) if ending.endswith(".gz") else lines
    (folder / f"a{ending}").write_bytes(content)


def films(folder: Path) -> None:
    """Half a minute of six scenes."""
    pytest.importorskip("av")
    sys.path.insert(0, str(REPOSITORY / "examples"))
    from corpus.films import Film, Shot
    from corpus.videos import Style, write_video

    folder.mkdir()
    motions = ("pan", "zoom", "still", "object", "black", "frozen")
    film = Film([Shot(125, motion) for motion in motions])
    write_video(folder / "harbour.mp4", film, Style(audio="aac"))


def shards(folder: Path) -> None:
    """A few dozen pictures in a tar file."""
    pytest.importorskip("PIL")
    sys.path.insert(0, str(REPOSITORY / "examples"))
    from corpus.shards import write

    write(folder, 1, 12, seed=2)  # one without anything damaged


def recordings(folder: Path) -> None:
    """A voice that stops and goes on, and a beep."""
    pytest.importorskip("av")
    pytest.importorskip("torch")
    sys.path.insert(0, str(REPOSITORY / "tests" / "audio"))
    import numpy as np
    from sounds import put, tone, voice, wav

    pause = np.zeros((1, 8_000), np.float32)
    put(folder, "voice.wav", wav(np.hstack([voice(2), pause, voice(1)])))
    put(folder, "beep.wav", wav(tone(0.2)))


def clips(folder: Path) -> None:
    """Clips of a film as a run left them, each with a vector in the index."""
    films(folder.parent / "films")
    from curator_core import LocalExecutor, Pipeline
    from curator_video import ClipWriter, FixedStrideSplitter, VideoReader

    stages = [VideoReader(str(folder.parent / "films")), FixedStrideSplitter(10.0),
              ClipWriter(str(folder))]  # fmt: skip
    Pipeline("clips", stages=stages).run(LocalExecutor(workers=0))
    for file in (folder / "index").glob("*.parquet"):
        table = pq.read_table(file)
        vectors = [[1.0, 0.1 * row] for row in range(table.num_rows)]
        pq.write_table(table.append_column("embedding", [vectors]), file)


Inputs = dict[str, Callable[[Path], None]]
LayOut = Callable[[Inputs, str, Path], None]

INPUTS: Inputs = {
    "packages/audio/README.md": lambda desk: recordings(desk / "recordings"),
    "packages/core/README.md": lambda desk: pages(desk / "raw"),
    "packages/cli/README.md": lambda desk: pages(desk / "raw"),
    "packages/dedup/README.md": lambda desk: pages(desk / "raw"),
    "packages/report/README.md": lambda desk: pages(desk / "raw"),
    "packages/image/README.md": lambda desk: shards(desk / "shards"),
    "packages/text/README.md": lambda desk: pages(desk / "raw", ".jsonl.gz"),
    "packages/video/README.md": lambda desk: films(desk / "films"),
}
"""What a page takes for granted that its reader has."""

MANUALS = {f"docs/modalities/{name}.md": name for name in ("text", "image", "video", "audio")}
MANUALS["docs/modalities/duplicates.md"] = "dedup"
INPUTS |= {page: INPUTS[f"packages/{name}/README.md"] for page, name in MANUALS.items()}

SHELL_INPUTS: Inputs = {
    "packages/cli/README.md": lambda desk: None,
    "docs/modalities/image.md": INPUTS["docs/modalities/image.md"],
    "docs/modalities/video.md": lambda desk: clips(desk / "clips"),
}
RUN_ELSEWHERE = {
    **{("README.md", kind): "test_guides.py" for kind in ("bash", "python", "text")},
    ("docs/modalities/duplicates.md", "bash"): "tests/dedup/test_readme.py",
}


def blocks_of(text: str, language: str = "python") -> list[str]:
    return [block for kind, block in FENCE.findall(text) if kind == language]


def is_run_here(name: str) -> bool:
    return not name.startswith("docs/") or name in MANUALS


def all_blocks(language: str) -> list[Any]:
    """Those of READMEs and manuals; on other pages, blocks are run one after the other."""
    texts = ((str(file.relative_to(REPOSITORY)), file.read_text()) for file in READMES)
    return [
        pytest.param(name, block, id=f"{name}#{number}")
        for name, text in texts
        if is_run_here(name) and (name, language) not in RUN_ELSEWHERE
        for number, block in enumerate(blocks_of(text, language), 1)
    ]


BLOCKS = all_blocks("python")


STARTS_RAY = ("connected()", ".open(")
"""Such blocks are run where a Ray is up already: tests/executors/streaming/test_readme.py."""


@pytest.fixture(scope="module")
def lay_out(tmp_path_factory: pytest.TempPathFactory) -> LayOut:
    """Puts what a README takes for granted into a folder; each is made once, and copied."""
    made: dict[tuple[int, str], Path] = {}

    def lay_out(inputs: Inputs, name: str, desk: Path) -> None:
        key = (id(inputs), name)
        if key not in made and name in inputs:
            folder = tmp_path_factory.mktemp("made")
            inputs[name](folder)
            made[key] = folder
        if name in inputs:
            shutil.copytree(made[key], desk, dirs_exist_ok=True)

    return lay_out


def skip_unless_installed(readme: str) -> None:
    if readme in MANUALS:
        pytest.importorskip(f"curator_{MANUALS[readme]}")
    for source in (REPOSITORY / readme).parent.glob("src/curator_*"):
        pytest.importorskip(source.name)


def run_block(block: str, desk: Path) -> "subprocess.CompletedProcess[str]":
    (desk / "shown.py").write_text(block)
    with one_cpu():
        return subprocess.run(
            [sys.executable, "-W", "error", "shown.py"], cwd=desk, capture_output=True, text=True
        )


def kept(desk: Path) -> list[str]:
    files = sorted((desk / "clean").glob("part-*.jsonl"))
    return [
        json.loads(line)["text"][:5] for file in files for line in file.read_text().splitlines()
    ]


@pytest.mark.parametrize(("name", "block"), BLOCKS)
def test_what_a_readme_shows_runs(name: str, block: str, tmp_path: Path, lay_out: LayOut) -> None:
    skip_unless_installed(name)
    if name.startswith("packages/executors/"):
        pytest.importorskip("ray")  # the light environment can install them, but has no cluster
        if any(sign in block for sign in STARTS_RAY):
            pytest.skip("run where a Ray is up")
    lay_out(INPUTS, name, tmp_path)
    ended = run_block(block, tmp_path)
    assert (ended.returncode, ended.stderr) == (0, "")
    if '"clean' in block and name in INPUTS:
        assert kept(tmp_path) == ["Day 0", "Day 1", "Day 2"]


@pytest.mark.parametrize(("name", "block"), all_blocks("bash"))
def test_what_a_readme_shows_for_a_shell_runs(
    name: str, block: str, tmp_path: Path, lay_out: LayOut
) -> None:
    skip_unless_installed(name)
    pytest.importorskip("curator_dedup")
    assert name in SHELL_INPUTS
    lay_out(SHELL_INPUTS, name, tmp_path)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "CURATOR_EXECUTOR": "local"}
    with one_cpu():
        done = subprocess.run(["bash", "-euc", block], cwd=tmp_path, env=environment,
                              capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("name", "block"), all_blocks("yaml"))
def test_recipes_in_a_readme_are_sound(
    name: str, block: str, tmp_path: Path, lay_out: LayOut, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A workflow is run; steps are put between a reader and a writer."""
    skip_unless_installed(name)
    assert name in INPUTS
    lay_out(INPUTS, name, tmp_path)
    monkeypatch.chdir(tmp_path)
    recipe = tmp_path / "recipe.yaml"
    if block.startswith("workflow:"):
        recipe.write_text(block)
        assert call(["run", str(recipe), "--executor", "local", "--workers", "0", "--quiet"]) == 0
        return
    steps = textwrap.indent(block, "  ")
    recipe.write_text(STEPS_OF_VIDEO.replace("STEPS", steps))
    plan = load_recipe(recipe).pipeline().build()
    assert len(plan.stages) > 3


STEPS_OF_VIDEO = """name: shown
input: {stage: video.video_reader, file_paths: films}
steps:
  - stage: video.fixed_stride_splitter
STEPS
output: {stage: video.clip_writer, path: clips}
"""


def test_every_block_of_a_readme_is_run_by_somebody() -> None:
    run_here = {"python", "bash", "yaml"}
    for file in READMES:
        name, text = str(file.relative_to(REPOSITORY)), file.read_text()
        if not is_run_here(name):
            continue
        kinds = {kind for kind, _ in FENCE.findall(text)}
        assert {kind for kind in kinds - run_here if (name, kind) not in RUN_ELSEWHERE} == set()
        assert not re.findall(r"^ {4}curate .*$", text, re.M), f"{name}: put it between fences"


def test_the_readmes_that_every_reader_meets_show_python() -> None:
    shown = {str(block.values[0]) for block in BLOCKS}
    assert {"packages/core/README.md", "packages/text/README.md"} <= shown


def test_a_block_that_does_not_run_is_noticed(tmp_path: Path) -> None:
    [good, bad] = blocks_of("```python\nx = 1\n```\ntext\n```python\nprint(y)\n```\n```\ny\n```\n")
    assert run_block(good, tmp_path).returncode == 0
    assert "name 'y' is not defined" in run_block(bad, tmp_path).stderr


OTHER_TESTS = re.compile("^(workflow|apiVersion):", re.MULTILINE)
"""Recipes of workflows and manifests of Kubernetes have tests of their own."""

RECIPES = [
    path
    for path in sorted((REPOSITORY / "examples").glob("**/*.y*ml"))
    if not OTHER_TESTS.search(path.read_text())
]


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.name)
def test_every_example_is_sound(recipe: Path, tmp_path: Path) -> None:
    pages(tmp_path / "raw")
    line = tmp_path / "raw" / "a.jsonl"
    line.write_text(json.dumps({"text": PROSE, "url": "https://harbour.example/"}) + "\n")
    settings = [f"input.file_paths={line}", f"output.path={tmp_path}/clean"]
    try:
        found = load_recipe(recipe, settings, permissions=Permissions(allow_python=True))
        plan = found.first_pipeline().build(found.executor())
    except PipelineError as error:
        if all(re.search("installed: .*pip install", problem) for problem in error.problems):
            pytest.skip(str(error))  # the light environment lacks some extras
        raise
    if found.curation is None:
        assert plan.stages[-1].stage.writes
    else:
        assert not list(found.curation.check())


def test_there_are_examples() -> None:
    assert RECIPES


COMMANDS = re.compile(r"`(curate [a-z]+[^`]*)`|^ +(curate [a-z].*)$", re.MULTILINE)


@pytest.mark.parametrize("file", READMES, ids=lambda file: str(file.relative_to(REPOSITORY)))
def test_every_command_that_a_page_names_exists(file: Path) -> None:
    import click
    from curator_cli.group import curate

    skip_unless_installed(str(file.relative_to(REPOSITORY)))
    known = curate.list_commands(click.Context(curate))  # those of plugins included
    named = {"".join(found).split()[1] for found in COMMANDS.findall(file.read_text())}
    assert named <= set(known)


LINKS = re.compile(r"\]\(([^)#:]+)\)")


@pytest.mark.parametrize("file", READMES, ids=lambda file: str(file.relative_to(REPOSITORY)))
def test_every_link_leads_somewhere(file: Path) -> None:
    broken = [to for to in LINKS.findall(file.read_text()) if not (file.parent / to).exists()]
    assert broken == []
