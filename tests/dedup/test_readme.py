"""The commands of the manual run, and it names every workflow and stage."""

import json
import random
import re
import shlex
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from curator_cli.app import call
from curator_dedup.plugin import curator_stages, curator_workflows

README = (Path(__file__).parents[2] / "docs/modalities/duplicates.md").read_text()
COMMANDS = [
    command
    for command in re.findall(r"^curate dedup .+$", README, re.MULTILINE)
    if "--embedding-model" not in command  # tests of curator-text run it with a tiny model
]


ROW = re.compile(r"^\| (?:`([\w/]*)`)? ?\| ([^|]*)\|", re.MULTILINE)


def documented_columns() -> dict[str, set[str]]:
    """Return the columns of each intermediate folder that the README names."""
    columns: dict[str, set[str]] = {}
    folder = ""
    for name, cell in ROW.findall(README):
        folder = name or folder
        columns.setdefault(folder, set()).update(re.findall(r"`(\w+)`", cell))
    return columns


def workflow_name(command: str) -> str:
    return shlex.split(command)[2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with pages that share a footer, the first page twice, and vectors."""
    folder = tmp_path_factory.mktemp("readme")
    draw = random.Random(1)
    foot = " ".join(f"foot{n}." for n in range(60))
    texts = [" ".join(draw.choices("abcdefghijk", k=200)) + f"\n{foot}" for _ in range(4)]
    pages = [{"text": text} for text in (*texts, texts[0])]
    turned = [{"embedding": [1.0, 0.001 * n] if n % 2 else [-0.001 * n, 1.0]} for n in range(20)]
    for name, records in (("raw", pages), ("embedded", turned)):
        (folder / name).mkdir()
        lines = (json.dumps(record) + "\n" for record in records)
        (folder / name / "a.jsonl").write_text("".join(lines))
    return folder


@pytest.mark.parametrize("command", COMMANDS, ids=workflow_name)
def test_commands_of_the_readme_run(
    command: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    words = shlex.split(command)[1:]
    source, out = words[2:4]
    assert call([*words, "--executor", "local", "--workers", "0"]) == 0, capsys.readouterr().err
    assert "is done" in capsys.readouterr().out
    read, written = (
        b"".join(sorted(path.read_bytes() for path in part.glob("*.jsonl")))
        for part in (folder / source, folder / out)
    )
    assert 0 < len(written) < len(read)
    for path in (folder / out / ".curator").rglob("*.parquet"):
        name = path.parent.relative_to(next((folder / out / ".curator").iterdir())).as_posix()
        assert set(pq.read_schema(path).names) <= documented_columns()[name], name


def test_readme_names_every_workflow_and_stage() -> None:
    assert {f"dedup.{workflow_name(command)}" for command in COMMANDS} == set(curator_workflows())
    for name, place in (curator_workflows() | curator_stages()).items():
        short, kind = name.removeprefix("dedup."), place.rpartition(":")[2]
        assert f"`curate dedup {short}` | `{kind}` |" in README or f"`{name}`" in README
        assert f"`{kind}`" in README
