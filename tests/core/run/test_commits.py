"""Commits that are replayed from a journal."""

from collections.abc import Iterator
from typing import Any

import pytest
from curator_core.model.records import QuarantineRecord, StageCounts
from curator_core.model.tasks import Origin, StagedFile
from curator_core.run.commits import (
    RETRACTED,
    Commit,
    done_entry,
    replay_journal,
    retract_entry,
    retry_id,
    root_of,
)
from curator_core.run.journal import Entry


class Lines:
    """A journal that is a list."""

    def __init__(self, *entries: Entry) -> None:
        self._entries = entries

    def entries(self) -> Iterator[Entry]:
        return iter(self._entries)

    def append(self, entry: Entry, *, durable: bool = True) -> None:
        raise NotImplementedError

    def close(self) -> None:
        pass


def commit(source: str, *files: str, origin: Origin | None = None, **facts: Any) -> Commit:
    staged = [StagedFile(f".{name}", name, items=2, size=10) for name in files]
    return Commit([source], {source: [origin]} if origin else {}, staged, **facts)


FILE = Origin("in.jsonl", "10:1")


class TestCommits:
    def test_an_entry_contains_the_whole_commit(self) -> None:
        counts = {1: StageCounts(tasks_in=3, tasks_passed=3, reasons={"short": 2})}
        whole = commit("s", "a", "b", origin=FILE, counts=counts, lost=True)
        assert Commit.from_entry(whole.to_entry()) == whole

    def test_only_confirmed_commits_are_done(self) -> None:
        one, other = commit("s", "a"), commit("t", "b")
        memory, unfinished = replay_journal(
            Lines(one.to_entry(), done_entry(one), other.to_entry())
        )
        assert [memory.commits[source].done for source in ("s", "t")] == [True, False]
        assert unfinished == []

    def test_several_sources_are_one_commit(self) -> None:
        group = Commit(["s", "t"], {})
        memory, _ = replay_journal(Lines(group.to_entry()))
        assert memory.commits["s"] is memory.commits["t"]
        assert len(memory.all()) == 1

    @pytest.mark.parametrize(
        "nonsense",
        [
            {"event": "commit"},
            {"event": "commit", "sources": 3, "origins": [], "files": [], "counts": {}},
            {"event": "done"},
            {"event": "retract", "sources": None, "files": []},
            {"event": "from a later version"},
        ],
    )
    def test_an_invalid_entry_is_skipped(self, nonsense: Entry) -> None:
        memory, unfinished = replay_journal(Lines(nonsense, commit("s").to_entry(), nonsense))
        assert list(memory.commits) == ["s"]
        assert unfinished == []


class TestRetractions:
    def test_files_of_an_unfinished_one_are_still_to_be_removed(self) -> None:
        one = commit("s", "a", "b")
        memory, unfinished = replay_journal(Lines(one.to_entry(), retract_entry(one)))
        assert "s" not in memory
        assert unfinished == ["a", "b"]

    def test_a_finished_one_leaves_nothing_to_do(self) -> None:
        one = commit("s", "a")
        _, unfinished = replay_journal(Lines(one.to_entry(), retract_entry(one), RETRACTED))
        assert unfinished == []

    def test_files_written_again_since_then_stay(self) -> None:
        one = commit("s", "a", "b")
        again = commit("s", "a")
        memory, unfinished = replay_journal(
            Lines(one.to_entry(), retract_entry(one), again.to_entry())
        )
        assert "s" in memory
        assert unfinished == ["b"]


class TestSuperseded:
    def test_another_state_of_the_file(self) -> None:
        old = commit("s", "a", origin=FILE)
        memory, _ = replay_journal(Lines(old.to_entry()))
        assert memory.superseded([Origin("in.jsonl", "11:2")]) == [old]
        assert memory.superseded([Origin("other.jsonl", "11:2")]) == []

    def test_another_cut_of_the_file(self) -> None:
        part = commit("s", "a", origin=Origin("in.jsonl", "10:1", 0, 5))
        memory, _ = replay_journal(Lines(part.to_entry()))
        assert memory.superseded([Origin("in.jsonl", "10:1", 5, 10)]) == []
        assert memory.superseded([Origin("in.jsonl", "10:1", 4, 10)]) == [part]

    def test_a_commit_that_is_forgotten(self) -> None:
        memory, _ = replay_journal(Lines(commit("s", "a", origin=FILE).to_entry()))
        memory.forget(memory.commits["s"])
        assert memory.superseded([Origin("in.jsonl", "11:2")]) == []


class TestRetries:
    def test_each_retry_is_a_source_of_its_own(self) -> None:
        record = QuarantineRecord("s.1", "judge", 2, "no", source_id="s")
        first = retry_id(record)
        assert first == "s-s.1@2-0"
        second = retry_id(QuarantineRecord("s.1", "judge", 2, "no", source_id=first))
        assert second == "s-s.1@2-1"
        later = retry_id(QuarantineRecord("s.1", "write", 3, "no", source_id=second))
        assert later == "s-s.1@3-0"
        assert {root_of(name) for name in ("s", first, second, later)} == {"s"}

    def test_a_mixed_task_belongs_to_a_source_too(self) -> None:
        """Its id is a hash of its parents' ids, which does not show the source."""
        base, other = commit("s", "a"), commit("t", "b")
        record = QuarantineRecord("5f3a", "judge", 2, "no", source_id="s")
        retried = commit(retry_id(record), "c")
        memory, _ = replay_journal(Lines(base.to_entry(), other.to_entry(), retried.to_entry()))
        assert memory.dependents_of(memory.commits["s"]) == [retried]
        assert memory.dependents_of(memory.commits["t"]) == []
