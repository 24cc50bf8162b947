"""`curate card`: where it writes, and what it says."""

import json
from pathlib import Path

import pytest
from curator_cli.app import call
from curator_core import JsonlReader, JsonlWriter, LocalExecutor, Pipeline


@pytest.fixture
def output(tmp_path: Path) -> Path:
    """Return the output folder of a run."""
    (tmp_path / "in.jsonl").write_text('{"text": "some words"}\n')
    stages = [JsonlReader(str(tmp_path / "in.jsonl")), JsonlWriter(str(tmp_path / "out"))]
    Pipeline("small", stages=stages).run(LocalExecutor(workers=0))
    return tmp_path / "out"


def test_it_writes_into_the_run_directory(output: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["card", str(output), "--license", "mit"]) == 0
    path = output / ".curator/small/card.md"
    assert str(path) in capsys.readouterr().out
    assert "license: mit" in path.read_text()


def test_it_writes_elsewhere_or_prints(output: Path, capsys: pytest.CaptureFixture[str]) -> None:
    readme = output.parent / "README.md"
    assert call(["card", str(output), "--output", str(readme), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"card": str(readme)}
    assert call(["card", str(output), "--output", "-"]) == 0
    assert capsys.readouterr().out == readme.read_text()


def test_mistakes_have_a_way_out(output: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["card", str(output), "--output", str(output)]) != 0
    assert "is a folder; name a file" in capsys.readouterr().err
    assert call(["card", str(output), "--output", str(output / "no/where.md")]) != 0
    assert "cannot write" in capsys.readouterr().err
    assert call(["card", str(output.parent / "nowhere")]) != 0
    assert "no such file or folder" in capsys.readouterr().err
