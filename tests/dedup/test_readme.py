"""What the README shows for a shell is run there, and names all there is."""

import json
import random
import re
import shlex
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from curator_cli.app import call
from curator_dedup.plugin import curator_stages, curator_workflows

README = (Path(__file__).parents[2] / "packages/dedup/README.md").read_text()
COMMANDS = [
    command
    for command in re.findall(r"^curate dedup .+$", README, re.MULTILINE)
    if "--embedding-model" not in command  # which tests of curator-text give a small one
]


ROW = re.compile(r"^\| (?:`([\w/]*)`)? ?\| ([^|]*)\|", re.MULTILINE)


def columns_told() -> dict[str, set[str]]:
    """The columns of each folder that any table of files in between names."""
    told: dict[str, set[str]] = {}
    folder = ""
    for name, columns in ROW.findall(README):
        folder = name or folder
        told.setdefault(folder, set()).update(re.findall(r"`(\w+)`", columns))
    return told


def shown(command: str) -> str:
    return shlex.split(command)[2]


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pages with a foot that all share, the first of them twice, and vectors of two kinds."""
    folder = tmp_path_factory.mktemp("desk")
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


@pytest.mark.parametrize("command", COMMANDS, ids=shown)
def test_what_is_shown_for_a_shell_runs_there(
    command: str, desk: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(desk)
    words = shlex.split(command)[1:]
    source, out = words[2:4]
    assert call([*words, "--executor", "local", "--workers", "0"]) == 0, capsys.readouterr().err
    assert "is done" in capsys.readouterr().out
    read, written = (
        b"".join(sorted(path.read_bytes() for path in folder.glob("*.jsonl")))
        for folder in (desk / source, desk / out)
    )
    assert 0 < len(written) < len(read)
    for path in (desk / out / ".curator").rglob("*.parquet"):
        folder = path.parent.relative_to(next((desk / out / ".curator").iterdir())).as_posix()
        assert set(pq.read_schema(path).names) <= columns_told()[folder], folder


def test_every_workflow_and_stage_is_named() -> None:
    assert {f"dedup.{shown(command)}" for command in COMMANDS} == set(curator_workflows())
    for name, place in (curator_workflows() | curator_stages()).items():
        short, kind = name.removeprefix("dedup."), place.rpartition(":")[2]
        assert f"`curate dedup {short}` | `{kind}` |" in README or f"`{name}`" in README
        assert f"`{kind}`" in README
