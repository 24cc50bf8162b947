import errno
import os
from pathlib import Path

import pytest
from curator_core.errors import OutputError
from curator_core.io.atomic_write import find_staged, open_draft, publish, staged_name
from curator_core.io.filesystems import open_filesystem
from curator_core.model.resources import WorkerInfo

WORKER = WorkerInfo(run_token="run1")


def write(final: str, content: bytes = b"hello"):
    with open_draft(final, WORKER) as draft:
        draft.file.write(content)
        draft.items = 1
    return draft.staged_file()


def write_half(final: str) -> None:
    with open_draft(final, WORKER) as draft:
        draft.file.write(b"half")
        raise KeyError("x")


def write_to_a_full_disk(final: str) -> None:
    with open_draft(final, WORKER) as draft, open("/dev/full", "wb", buffering=0) as full:
        draft.file.write(b"x")
        full.write(b"x")


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def test_a_file_has_a_hidden_name_until_it_is_published(tmp_path: Path):
    final = str(tmp_path / "out" / "part-1.jsonl")
    staged = write(final)
    [hidden] = names(tmp_path / "out")
    assert hidden.startswith(".part-1.jsonl.run1.")
    assert hidden.endswith(".staged")
    assert (staged.final, staged.items, staged.size) == (final, 1, 5)
    fs, _ = open_filesystem(final)
    publish(fs, staged)
    assert names(tmp_path / "out") == ["part-1.jsonl"]
    assert Path(final).read_bytes() == b"hello"


def test_publishing_twice_is_fine(tmp_path: Path):
    staged = write(str(tmp_path / "a"))
    fs, _ = open_filesystem(str(tmp_path))
    publish(fs, staged)
    publish(fs, staged)
    assert names(tmp_path) == ["a"]


def test_publishing_an_unwritten_file_is_an_error(tmp_path: Path):
    staged = write(str(tmp_path / "a"))
    os.unlink(staged.staged)
    fs, _ = open_filesystem(str(tmp_path))
    with pytest.raises(OutputError, match=r"cannot publish .*/a: neither it nor its staged file"):
        publish(fs, staged)


def test_an_exception_leaves_nothing_behind(tmp_path: Path):
    with pytest.raises(KeyError):
        write_half(str(tmp_path / "a"))
    assert names(tmp_path) == []


def test_every_draft_has_its_own_name(tmp_path: Path):
    final = str(tmp_path / "a")
    assert write(final).staged != write(final).staged


def test_a_staged_name_fits_the_file_system():
    final = "/out/" + "ä" * 127
    assert len(staged_name(final, "run1").rpartition("/")[2].encode()) <= 255


def test_only_leftovers_of_this_run_are_found(tmp_path: Path):
    staged = write(str(tmp_path / "a.jsonl"))
    with open_draft(str(tmp_path / "b.jsonl"), WorkerInfo(run_token="run2")):
        pass
    (tmp_path / ".hidden.run1").touch()
    fs, folder = open_filesystem(str(tmp_path))
    assert find_staged(fs, folder, "run1") == [staged.staged]
    assert find_staged(fs, folder + "/none", "run1") == []


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (errno.ENOSPC, "the disk is full; free some space, then run the same command again"),
        (errno.EROFS, "the file system is read-only; choose another folder"),
        (errno.EACCES, "permission denied; allow writing there or choose another folder"),
    ],
)
def test_a_write_error_is_one_sentence(tmp_path: Path, number: int, message: str):
    final = str(tmp_path / "a.jsonl")
    with pytest.raises(OutputError) as caught, open_draft(final, WORKER):
        raise OSError(number, os.strerror(number))
    assert str(caught.value).startswith(f"cannot write {final}: {message}")
    assert names(tmp_path) == []


def test_a_disk_that_is_really_full_leaves_no_torn_file(tmp_path: Path):
    with pytest.raises(OutputError, match="the disk is full"):
        write_to_a_full_disk(str(tmp_path / "a"))
    assert names(tmp_path) == []


def test_a_folder_that_is_a_file(tmp_path: Path):
    (tmp_path / "out").touch()
    with pytest.raises(OutputError, match="a part of the path is a file, not a folder"):
        write(str(tmp_path / "out" / "a"))


def test_errors_that_may_pass_are_left_to_the_retries(tmp_path: Path):
    with pytest.raises(ConnectionResetError), open_draft(str(tmp_path / "a"), WORKER):
        raise ConnectionResetError(errno.ECONNRESET, "reset")


def test_an_object_store_gets_one_whole_file():
    final = "memory://staging/part-1.jsonl"
    fs, path = open_filesystem(final)
    with open_draft(final, WORKER) as draft:
        draft.file.write(b"he")
        draft.file.write(b"llo")
        assert not fs.exists(path)
    staged = draft.staged_file()
    assert staged.staged == staged.final
    assert fs.cat_file(path) == b"hello"
    publish(fs, staged)
    assert find_staged(fs, "memory://staging", "run1") == []
    fs.rm(path)
    with pytest.raises(OutputError, match="was written, but no longer exists"):
        publish(fs, staged)


def test_an_object_store_gets_nothing_of_a_failed_file():
    final = "memory://staging/torn.jsonl"
    with pytest.raises(KeyError):
        write_half(final)
    fs, path = open_filesystem(final)
    assert not fs.exists(path)
