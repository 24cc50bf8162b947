import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from curator_core.errors import InputError, NothingFoundError
from curator_core.io.filesystems import open_filesystem, open_input
from curator_core.io.listing import FileFilter, find_files

ANY = FileFilter()
JSONL = FileFilter((".jsonl", ".jsonl.gz"))


def fill(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(name.encode())


def found(*paths: object, wanted: FileFilter = ANY, below: Path) -> list[str]:
    parts = find_files([str(path) for path in paths], wanted)
    return [os.path.relpath(part.path, below) for part in parts]


@contextmanager
def unprivileged() -> Iterator[None]:
    """Root may read everything, so tests of permissions run as another user."""
    if os.geteuid():
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


def test_a_folder_yields_all_files_below_it_in_order(tmp_path: Path):
    fill(tmp_path, "b.jsonl", "a/z.jsonl", "a/b/c.jsonl", "a.jsonl.gz", "notes.txt")
    expected = ["a/b/c.jsonl", "a/z.jsonl", "a.jsonl.gz", "b.jsonl"]
    assert found(tmp_path, wanted=JSONL, below=tmp_path) == expected


def test_hidden_files_and_folders_are_left_out(tmp_path: Path):
    fill(tmp_path, "a.jsonl", ".b.jsonl", "_manifest.json", ".curator/run/c.jsonl", "_tmp/d.jsonl")
    assert found(tmp_path, below=tmp_path) == ["a.jsonl"]
    assert found(tmp_path / "**", below=tmp_path) == ["a.jsonl"]
    assert found(tmp_path / "_*", below=tmp_path) == ["_manifest.json", "_tmp/d.jsonl"]


def test_a_named_file_is_read_whatever_its_extension(tmp_path: Path):
    fill(tmp_path, "data.txt", ".hidden")
    assert found(tmp_path / "data.txt", wanted=JSONL, below=tmp_path) == ["data.txt"]
    assert found(tmp_path / ".hidden", wanted=JSONL, below=tmp_path) == [".hidden"]


def test_patterns(tmp_path: Path):
    fill(tmp_path, "a1.jsonl", "a2.txt", "b1.jsonl", "sub/a3.jsonl")
    assert found(tmp_path / "a*", wanted=JSONL, below=tmp_path) == ["a1.jsonl"]
    assert found(tmp_path / "a*.txt", wanted=JSONL, below=tmp_path) == ["a2.txt"]
    everything = ["a1.jsonl", "b1.jsonl", "sub/a3.jsonl"]
    assert found(tmp_path / "**" / "*.jsonl", below=tmp_path) == everything
    assert found(tmp_path / "s*", wanted=JSONL, below=tmp_path) == ["sub/a3.jsonl"]
    assert sorted(found(tmp_path / "**", wanted=JSONL, below=tmp_path)) == everything


def test_a_name_may_hold_brackets(tmp_path: Path):
    fill(tmp_path, "a[1].jsonl", "a1.jsonl")
    assert found(tmp_path / "a[1].jsonl", below=tmp_path) == ["a[1].jsonl"]


def test_a_file_that_is_named_twice_is_listed_once(tmp_path: Path, monkeypatch):
    fill(tmp_path, "a.jsonl", "b.jsonl")
    monkeypatch.chdir(tmp_path)
    twice = ("a.jsonl", tmp_path / "a.jsonl", tmp_path, f"file://{tmp_path}/b.jsonl")
    assert sorted(found(*twice, below=tmp_path)) == ["a.jsonl", "b.jsonl"]


def test_include_and_exclude_see_names_and_inner_paths(tmp_path: Path):
    fill(tmp_path, "en/a.jsonl", "en/b.jsonl", "de/a.jsonl")
    assert found(tmp_path, wanted=FileFilter(include=("en/*",)), below=tmp_path) == [
        "en/a.jsonl",
        "en/b.jsonl",
    ]
    only = FileFilter(include=("a.*",), exclude=("de/*",))
    assert found(tmp_path, wanted=only, below=tmp_path) == ["en/a.jsonl"]


def test_endings_are_compared_without_case(tmp_path: Path):
    fill(tmp_path, "A.JSONL")
    assert found(tmp_path, wanted=JSONL, below=tmp_path) == ["A.JSONL"]


def test_a_link_to_a_parent_folder_is_not_followed(tmp_path: Path):
    fill(tmp_path, "a/x.jsonl")
    (tmp_path / "a" / "again").symlink_to(tmp_path)
    assert found(tmp_path, below=tmp_path) == ["a/x.jsonl"]


def test_a_file_has_its_size_and_version(tmp_path: Path):
    fill(tmp_path, "a.jsonl")
    [before] = find_files([str(tmp_path)], ANY)
    assert before.size == 7
    assert before.version == str(os.stat(tmp_path / "a.jsonl").st_mtime_ns)
    os.utime(tmp_path / "a.jsonl", ns=(1, 1))
    [after] = find_files([str(tmp_path)], ANY)
    assert after.version == "1"


def test_nothing_matches(tmp_path: Path):
    fill(tmp_path, "in/a.csv", "in/b.csv", "in/c", "in/deep/d.jsonl")
    with pytest.raises(InputError) as caught:
        found(tmp_path / "in" / "none" / "*.jsonl", below=tmp_path)
    assert str(caught.value) == (
        f"no files match {tmp_path}/in/none/*.jsonl (nearest existing folder: {tmp_path}/in, "
        "with 2 .csv and 1 unnamed files)"
    )


def test_a_folder_without_the_right_files(tmp_path: Path):
    fill(tmp_path, "a.csv")
    with pytest.raises(InputError) as caught:
        found(tmp_path, wanted=JSONL, below=tmp_path)
    assert str(caught.value) == (
        f"no files match {tmp_path} (nearest existing folder: {tmp_path}, with "
        "1 .csv file); only names that end in .jsonl (or these with .gz) are read: set "
        "file_extensions? (text.csv_reader reads .csv files)"
    )


def test_each_path_must_match_something(tmp_path: Path):
    fill(tmp_path, "a.jsonl")
    with pytest.raises(InputError, match=r"no files match .*/none .*with 1 \.jsonl file\)"):
        found(tmp_path / "a.jsonl", tmp_path / "none", below=tmp_path)


def test_a_folder_that_may_not_be_read(open_folder: Path):
    fill(open_folder, "in/a.jsonl")
    (open_folder / "in").chmod(0)
    with unprivileged(), pytest.raises(InputError, match="permission denied; allow reading it"):
        found(open_folder / "in", below=open_folder)
    (open_folder / "in").chmod(0o755)


def test_opening_an_unreadable_or_missing_file(open_folder: Path):
    fill(open_folder, "a.jsonl")
    (open_folder / "a.jsonl").chmod(0)
    with unprivileged(), pytest.raises(InputError, match=r"cannot read .*a\.jsonl: permission"):
        open_input(str(open_folder / "a.jsonl"))
    with pytest.raises(InputError, match=r"cannot read .*b\.jsonl: it does not exist"):
        open_input(str(open_folder / "b.jsonl"))
    with pytest.raises(InputError, match="it is a folder"):
        open_input(str(open_folder))


def test_an_object_store_is_listed_the_same_way():
    fs, _ = open_filesystem("memory://finding")
    for name in ("b.jsonl", "a/z.jsonl", "a/_hidden.jsonl", "notes.txt", ".h/x.jsonl"):
        fs.pipe_file(f"/finding/{name}", b"12345")
    parts = list(find_files(["memory://finding"], JSONL))
    assert [part.path for part in parts] == [
        "memory:///finding/a/z.jsonl",
        "memory:///finding/b.jsonl",
    ]
    assert parts[0].size == 5
    assert parts[0].version
    with open_input(parts[0].path) as file:
        assert file.read() == b"12345"
    matching = find_files(["memory://finding/**/*.jsonl"], JSONL)
    assert [part.path for part in matching] == [part.path for part in parts]
    with pytest.raises(InputError, match=r"no files match memory://finding/x \(nearest existing"):
        list(find_files(["memory://finding/x"], JSONL))


def test_a_folder_that_is_misspelt(tmp_path: Path) -> None:
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "a.jsonl").touch()
    with pytest.raises(NothingFoundError, match=rf"did you mean {tmp_path}/pages\?\)$"):
        list(find_files([f"{tmp_path}/pagse/*.jsonl"], FileFilter()))


@pytest.mark.parametrize(
    ("missing", "suggested"),
    [("trian.jsonl", "train.jsonl"), ("train.json", "train.jsonl"), ("zebra.jsonl", None)],
)
def test_a_missing_file_suggests_a_similar_name_but_not_any_with_its_extension(
    tmp_path: Path, missing: str, suggested: str | None
) -> None:
    fill(tmp_path, "train.jsonl", "validation.jsonl", "test.jsonl")
    with pytest.raises(NothingFoundError) as caught:
        list(find_files([str(tmp_path / missing)], JSONL))
    if suggested:
        assert f"(did you mean {tmp_path}/{suggested}?)" in str(caught.value)
    else:
        assert "did you mean" not in str(caught.value)


def test_an_object_store_is_listed_in_the_order_of_a_disk(tmp_path: Path) -> None:
    names = ["a.jsonl", "a/b.jsonl", "a-b/c.jsonl", "a/c/d.jsonl", "b.jsonl", "a/.h/e.jsonl"]
    fill(tmp_path, *names)
    fs, _ = open_filesystem("memory://order")
    for name in names:
        fs.pipe_file(f"/order/{name}", b"1")
    here = found(tmp_path, below=tmp_path)
    for path in ("memory://order", "memory://order/*"):
        there = [part.path for part in find_files([path], ANY)]
        assert [path.removeprefix("memory:///order/") for path in there] == here


def test_include_and_exclude_that_leave_no_file(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").touch()
    with pytest.raises(NothingFoundError) as caught:
        list(find_files([str(tmp_path)], FileFilter((".jsonl",), (), ("*",))))
    assert str(caught.value).endswith("end in .jsonl are read; check include and exclude")
