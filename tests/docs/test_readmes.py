"""What the READMEs show is run as a reader would run it: saved into a file, in a folder of data."""

import ast
import gzip
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from curator_core import PipelineError
from curator_core.recipes import load_recipe

REPOSITORY = Path(__file__).parents[2]
READMES = sorted(
    file
    for pattern in ("*.md", "docs/**/*.md", "examples/**/*.md", "packages/**/README.md")
    for file in REPOSITORY.glob(pattern)
)
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
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


INPUTS: dict[str, Callable[[Path], None]] = {
    "README.md": lambda desk: pages(desk / "pages"),
    "packages/audio/README.md": lambda desk: recordings(desk / "recordings"),
    "packages/core/README.md": lambda desk: pages(desk / "raw"),
    "packages/dedup/README.md": lambda desk: pages(desk / "raw"),
    "packages/image/README.md": lambda desk: shards(desk / "shards"),
    "packages/text/README.md": lambda desk: pages(desk / "raw", ".jsonl.gz"),
    "packages/video/README.md": lambda desk: films(desk / "films"),
}
"""What a README takes for granted that its reader has."""


def blocks_of(text: str) -> list[str]:
    return PYTHON.findall(text)


BLOCKS = [
    pytest.param(name, block, id=f"{name}#{number}")
    for name, text in ((str(f.relative_to(REPOSITORY)), f.read_text()) for f in READMES)
    if not name.startswith("docs/")  # whose blocks are run one after the other
    for number, block in enumerate(blocks_of(text), 1)
]


def imports_of(block: str) -> str:
    """What a block imports: enough to run of those that would start a cluster."""
    found = (
        node for node in ast.parse(block).body if isinstance(node, ast.Import | ast.ImportFrom)
    )
    return "\n".join(map(ast.unparse, found))


def skip_unless_installed(readme: str) -> None:
    for source in (REPOSITORY / readme).parent.glob("src/curator_*"):
        pytest.importorskip(source.name)


def run_block(block: str, desk: Path) -> "subprocess.CompletedProcess[str]":
    (desk / "shown.py").write_text(block)
    return subprocess.run(
        [sys.executable, "-W", "error", "shown.py"], cwd=desk, capture_output=True, text=True
    )


def kept(desk: Path) -> list[str]:
    files = sorted((desk / "clean").glob("part-*.jsonl"))
    return [
        json.loads(line)["text"][:5] for file in files for line in file.read_text().splitlines()
    ]


@pytest.mark.parametrize(("name", "block"), BLOCKS)
def test_what_a_readme_shows_runs(name: str, block: str, tmp_path: Path) -> None:
    skip_unless_installed(name)
    if name.startswith("packages/executors/"):
        pytest.importorskip("ray")  # the light environment can install them, but has no cluster
        block = imports_of(block)
    INPUTS.get(name, lambda desk: None)(tmp_path)
    ended = run_block(block, tmp_path)
    assert (ended.returncode, ended.stderr) == (0, "")
    if '"clean' in block:
        assert kept(tmp_path) == ["Day 0", "Day 1", "Day 2"]


def test_the_readmes_that_every_reader_meets_show_python() -> None:
    shown = {str(block.values[0]) for block in BLOCKS}
    assert {"README.md", "packages/core/README.md", "packages/text/README.md"} <= shown


def test_a_block_that_does_not_run_is_noticed(tmp_path: Path) -> None:
    [good, bad] = blocks_of("```python\nx = 1\n```\ntext\n```python\nprint(y)\n```\n```\ny\n```\n")
    assert run_block(good, tmp_path).returncode == 0
    assert "name 'y' is not defined" in run_block(bad, tmp_path).stderr


RECIPES = [
    path
    for path in sorted((REPOSITORY / "examples").glob("**/*.y*ml"))
    if "\nworkflow:" not in f"\n{path.read_text()}"  # those have a test where they belong
]


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.name)
def test_every_example_is_sound(recipe: Path, tmp_path: Path) -> None:
    pages(tmp_path / "raw")
    line = tmp_path / "raw" / "a.jsonl"
    line.write_text(json.dumps({"text": PROSE, "url": "https://harbour.example/"}) + "\n")
    settings = [f"input.file_paths={line}", f"output.path={tmp_path}/clean"]
    found = load_recipe(recipe, settings)
    try:
        plan = found.pipeline().build(found.executor())
    except PipelineError as error:
        if all(re.search("installed: .*pip install", problem) for problem in error.problems):
            pytest.skip(str(error))  # the light environment lacks some extras
        raise
    assert plan.stages[-1].stage.writes


def test_there_are_examples() -> None:
    assert RECIPES


COMMANDS = re.compile(r"`(curate [a-z]+[^`]*)`|^ +(curate [a-z].*)$", re.MULTILINE)


@pytest.mark.parametrize("file", READMES, ids=lambda file: str(file.relative_to(REPOSITORY)))
def test_every_command_that_a_page_names_exists(file: Path) -> None:
    import click
    from curator_core.cli.groups import curate

    skip_unless_installed(str(file.relative_to(REPOSITORY)))
    known = curate.list_commands(click.Context(curate))  # those of plugins included
    named = {"".join(found).split()[1] for found in COMMANDS.findall(file.read_text())}
    assert named <= set(known)


LINKS = re.compile(r"\]\(([^)#:]+)\)")


@pytest.mark.parametrize("file", READMES, ids=lambda file: str(file.relative_to(REPOSITORY)))
def test_every_link_leads_somewhere(file: Path) -> None:
    broken = [to for to in LINKS.findall(file.read_text()) if not (file.parent / to).exists()]
    assert broken == []
