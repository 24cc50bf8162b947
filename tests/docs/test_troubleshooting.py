"""The page on troubleshooting says which error reads how: here each of them is made."""

import json
import re
import shutil
from pathlib import Path

import pytest
from curator_cli.app import call

pytest.importorskip("curator_text")

PAGE = Path(__file__).parents[2] / "docs" / "troubleshooting.md"
READS = dict(re.findall(r"^\| `(.*?)(?: …)?` \| `(\w+)`.* \|$", PAGE.read_text(), re.M))
CODES = dict(re.findall(r"^\| `(\w+)` \| (\d+)", PAGE.read_text(), re.M))
RECIPE = """\
name: words
executor: {name: local, workers: 0}
input: {stage: core.jsonl_reader, file_paths: raw}
steps: [{stage: text.word_count_filter, min_words: 2}]
output: {stage: core.jsonl_writer, path: out}
"""
ASKED = [
    ("run", "typo.yaml"),
    ("run", "words.yaml", "--set", "steps.word_count_filter.min_wrods=3"),
    ("run", "missing.yaml"),
    ("run", "words.yaml", "--set", "input.file_paths=nowhere"),
    ("report", "raw"),
    ("run", "words.yaml", "--set", "output.path=full"),
    ("run", "words.yaml", "--set", "output.path=words.yaml/out"),
    ("run", "words.yaml", "--set", "steps.word_count_filter.min_words=3"),
    ("run", "two.yaml"),
    ("run", "words.yaml", "--set", "steps.word_count_filter.resources.gpus=64",
     "--set", "output.path=gpus"),
    ("run", "torn.yaml", "--set", "errors.on_error=fail"),
    ("run", "torn.yaml"),
]  # fmt: skip


def test_messages_are_those_of_the_errors_that_the_page_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "a.jsonl").write_text('{"text": "one two three four"}\n')
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").write_text("not ours")
    (tmp_path / "torn.jsonl").write_text('{"text": "one\n')
    (tmp_path / "words.yaml").write_text(RECIPE)
    (tmp_path / "typo.yaml").write_text(RECIPE.replace("word", "wrod"))
    (tmp_path / "torn.yaml").write_text(
        RECIPE.replace("raw", "torn.jsonl").replace(" out}", " torn}")
    )
    assert call(["run", "words.yaml"]) == 0
    (tmp_path / "two.yaml").write_text(RECIPE.replace("raw", "more").replace(" out}", " two}"))
    shutil.copytree(tmp_path / "raw", tmp_path / "more")
    (tmp_path / "more/b.jsonl").write_text('{"text": "five six"}\n')
    assert call(["run", "two.yaml"]) == 0
    (tmp_path / "more/b.jsonl").unlink()
    assert len(READS) == len(ASKED)
    for arguments, (reads, error) in zip(ASKED, READS.items(), strict=True):
        capfd.readouterr()
        code = call([*arguments, "--json"])
        said = json.loads(capfd.readouterr().out)["error"]
        assert (said["type"], str(code)) == (error, CODES[error])
        assert reads in said["message"]
