"""Journals keep every intact line, whatever happened to the others."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from curator_core import OutputError
from curator_core.run.journal import FileJournal, Journal, ObjectJournal, open_journal
from fsspec.implementations.memory import MemoryFileSystem


def entry(number: int) -> dict[str, Any]:
    return {"event": "done", "source": f"s{number}"}


@pytest.fixture
def remote() -> Iterator[str]:
    """A run directory on a store that cannot append."""
    fs = MemoryFileSystem()
    yield "memory://journal-tests/run"
    fs.rm("/journal-tests", recursive=True)


def filled(run_dir: str, *numbers: int) -> Journal:
    journal = open_journal(run_dir)
    for number in numbers:
        journal.append(entry(number), durable=number % 2 == 0)
    return journal


def read_again(run_dir: str) -> list[dict[str, Any]]:
    journal = open_journal(run_dir)
    entries = list(journal.entries())
    journal.close()
    return entries


class TestFiles:
    def test_lines_come_back_in_order(self, tmp_path: Path) -> None:
        filled(str(tmp_path), 1, 2, 3).close()
        assert isinstance(open_journal(str(tmp_path)), FileJournal)
        assert read_again(str(tmp_path)) == [entry(1), entry(2), entry(3)]

    def test_a_torn_last_line_is_cut_off_and_more_can_be_appended(self, tmp_path: Path) -> None:
        filled(str(tmp_path), 1, 2).close()
        path = tmp_path / "journal.jsonl"
        path.write_bytes(path.read_bytes()[:-7])
        filled(str(tmp_path), 3).close()
        assert read_again(str(tmp_path)) == [entry(1), entry(3)]

    @pytest.mark.parametrize(
        "damage", [b"\x00\x00\x00", b"{", b"null", b"17", b'{"source": "x"}', b"\xff\xfe", b""]
    )
    def test_a_damaged_line_only_loses_its_own_entry(
        self, damage: bytes, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        path = tmp_path / "journal.jsonl"
        filled(str(tmp_path), 1).close()
        path.write_bytes(path.read_bytes() + damage + b"\n")
        filled(str(tmp_path), 2).close()
        assert read_again(str(tmp_path)) == [entry(1), entry(2)]
        assert f"{path} line 2 is damaged and left out" in caplog.text

    def test_all_of_it_is_garbage(self, tmp_path: Path) -> None:
        (tmp_path / "journal.jsonl").write_bytes(bytes(range(256)) * 40)
        filled(str(tmp_path), 1).close()
        assert read_again(str(tmp_path)) == [entry(1)]

    def test_names_that_are_not_unicode(self, tmp_path: Path) -> None:
        strange = {"event": "commit", "files": [os.fsdecode(b"caf\xe9.jsonl")]}
        journal = open_journal(str(tmp_path))
        journal.append(strange)
        journal.close()
        assert read_again(str(tmp_path)) == [strange]

    def test_a_full_disk_leaves_no_half_line(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        journal = filled(str(tmp_path), 1)
        writes = iter([5])

        def fill_up(handle: int, content: bytes) -> int:
            if room := next(writes, 0):
                return os_write(handle, content[:room])
            raise OSError(errno.ENOSPC, "No space left on device")

        os_write = os.write
        monkeypatch.setattr(os, "write", fill_up)
        with pytest.raises(OutputError) as caught:
            journal.append(entry(2))
        monkeypatch.undo()
        assert str(caught.value) == (
            f"cannot write {tmp_path}/journal.jsonl: the disk is full; "
            "free some space, then run the same command again"
        )
        journal.append(entry(3))
        journal.close()
        assert read_again(str(tmp_path)) == [entry(1), entry(3)]


class TestObjects:
    def test_lines_come_back_in_order(self, remote: str) -> None:
        filled(remote, 1, 2, 3).close()
        filled(remote, 4).close()
        assert isinstance(open_journal(remote), ObjectJournal)
        assert read_again(remote) == [entry(1), entry(2), entry(3), entry(4)]

    def test_entries_that_need_not_be_durable_are_sent_with_those_that_must(
        self, remote: str
    ) -> None:
        filled(remote, 1, 3, 2, 5)  # not closed: its process was killed
        assert read_again(remote) == [entry(1), entry(3), entry(2)]
        assert len(MemoryFileSystem().ls("/journal-tests/run/journal")) == 1

    def test_a_deleted_object_is_not_replaced_by_another(self, remote: str) -> None:
        filled(remote, 0, 2, 4).close()
        MemoryFileSystem().rm("/journal-tests/run/journal/000000001.jsonl")
        filled(remote, 6).close()
        assert read_again(remote) == [entry(0), entry(4), entry(6)]
