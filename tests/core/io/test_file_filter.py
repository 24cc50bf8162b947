import pickle
from pathlib import Path

import pytest
from curator_core import JsonlReader, JsonlWriter, ParquetWriter, Pipeline, PipelineError
from curator_core.errors import NothingFoundError
from curator_core.io.listing import FileFilter, find_files, would_match

FILES = (
    "a.jsonl",
    "b.csv",
    "in/a.jsonl",
    "in/deep/er/a.jsonl.gz",
    "in/.hidden/a.jsonl",
    "_own/a.jsonl",
    "other/a[1].jsonl",
)
SOURCES = (
    "", "a.jsonl", "in", "*", "*.jsonl", "**", "**/*.jsonl*", "in/**", "*/*.jsonl", "i*", "_own/*",
    "in/*/er", "o?her/*", "*/.hidden/*",
)  # fmt: skip
WANTED = (
    FileFilter(),
    FileFilter((".jsonl",)),
    FileFilter((), ("in/*",)),
    FileFilter((), (), ("a*",)),
)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in FILES:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('{"text": "one two"}\n')
    return tmp_path


@pytest.mark.parametrize("wanted", WANTED)
@pytest.mark.parametrize("source", SOURCES)
def test_would_match_agrees_with_find_files(tree: Path, source: str, wanted: FileFilter) -> None:
    place = f"{tree}/{source}".rstrip("/")
    try:
        found = {part.path for part in find_files([place], wanted)}
    except NothingFoundError:
        found = set()
    foreseen = {f"{tree}/{name}" for name in FILES if would_match(f"{tree}/{name}", place, wanted)}
    assert foreseen == found


@pytest.mark.parametrize("source", ["", "/", "/**", "/**/*.jsonl", "/*/out/*.jsonl", "/in/out"])
def test_results_among_the_inputs_are_refused(tree: Path, source: str) -> None:
    """Otherwise a second run would read the results of the first as input."""
    (tree / "in" / "out").mkdir()
    (tree / "in" / "out" / "given.jsonl").write_text('{"text": "one two"}\n')
    stages = [JsonlReader(f"{tree}{source}"), JsonlWriter(f"{tree}/in/out", mode="append")]
    with pytest.raises(PipelineError) as caught:
        Pipeline("again", stages=stages).build()
    assert caught.value.problems == [
        f"stage 'jsonl_writer' writes to {tree}/in/out, which 'jsonl_reader_files' reads: "
        "a second run would read its own results; write to another folder"
    ]


def test_other_formats_and_hidden_folders_are_not_input(tree: Path) -> None:
    for writer in (ParquetWriter(f"{tree}/out"), JsonlWriter(f"{tree}/_out")):
        assert Pipeline("fine", stages=[JsonlReader(f"{tree}"), writer]).build()


def test_pathlib_paths_are_accepted(tree: Path) -> None:
    reader = JsonlReader(tree / "in" / "a.jsonl")  # type: ignore[arg-type]
    writer = JsonlWriter(tree / "out", dropped_path=tree / "d")  # type: ignore[arg-type]
    assert (reader.file_paths, writer.path) == (f"{tree}/in/a.jsonl", f"{tree}/out")
    assert writer.dropped_path == f"{tree}/d"
    assert len(Pipeline("paths", stages=[reader, writer]).run()) == 1
    assert pickle.loads(pickle.dumps(reader)) == reader
