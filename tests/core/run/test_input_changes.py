"""Input files that were renamed or removed since an earlier run."""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from curator_core import LocalExecutor, Pipeline, PipelineError, RemovedInputsError, RunResult
from curator_core.io.readers import JsonlReader
from curator_core.io.writers import JsonlWriter
from curator_core.model.tasks import Origin
from curator_core.run.input_changes import InputPolicy, State, find_renames, match_sources
from fsspec.implementations.memory import MemoryFileSystem
from jobkit import record_ids
from runkit import Pairs, Together, hidden_leftovers, published, words_pipeline

HERE = LocalExecutor(workers=0)


def write(folder: Path, name: str, text: str, age: int = 0) -> Path:
    """Write an input file; each has another age by default."""
    path = folder / "in" / f"{name}.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    seconds = 1_700_000_000 + (age or int(name, 36))
    os.utime(path, (seconds, seconds))
    return path


def finished(folder: Path) -> dict[str, bytes]:
    for name, text in {"a": "one two", "b": "three", "c": "four five"}.items():
        write(folder, name, text)
    words_pipeline(folder).run(HERE)
    return published(folder / "out")


def run(folder: Path, **options: Any) -> RunResult:
    return words_pipeline(folder).run(HERE, **options)


def everything(folder: Path) -> dict[str, bytes]:
    """All files of a folder, including hidden ones, without the lock that each run writes."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != "lock")
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def fresh(folder: Path) -> dict[str, bytes]:
    """The output of a first run."""
    shutil.rmtree(folder / "out")
    run(folder)
    return published(folder / "out")


def parts(folder: Path, **options: Any) -> Pipeline:
    stages = [JsonlReader(str(folder / "in"), **options), JsonlWriter(str(folder / "out"))]
    return Pipeline("parts", stages=stages)


def write_lines(folder: Path, name: str, first: int, count: int = 20) -> Path:
    path = folder / "in" / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = ({"id": number, "text": f"text {number:04}"} for number in range(first, first + count))
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    os.utime(path, (1_700_000_000 + first, 1_700_000_000 + first))
    return path


class TestRenames:
    def test_a_renamed_file_costs_nothing(self, tmp_path: Path) -> None:
        before = finished(tmp_path)
        (tmp_path / "in/b.txt").rename(tmp_path / "in/z.txt")
        result = run(tmp_path)
        assert (result.sources_done, result.sources_skipped) == (0, 3)
        assert published(tmp_path / "out") == before
        again = run(tmp_path)  # the journal knows the name by now
        assert (again.sources_done, again.sources_skipped, again.notes) == (0, 3, [])
        (tmp_path / "in/z.txt").rename(tmp_path / "in/b.txt")
        assert run(tmp_path).sources_done == 0
        assert published(tmp_path / "out") == before

    def test_a_renamed_file_that_changes_later_runs_again(self, tmp_path: Path) -> None:
        finished(tmp_path)
        (tmp_path / "in/b.txt").rename(tmp_path / "in/z.txt")
        run(tmp_path)
        write(tmp_path, "z", "six", age=99)
        assert run(tmp_path).sources_done == 1
        found = published(tmp_path / "out")
        assert found == fresh(tmp_path)

    def test_a_file_under_both_names_is_two_files(self, tmp_path: Path) -> None:
        finished(tmp_path)
        (tmp_path / "in/b.txt").rename(tmp_path / "in/z.txt")
        run(tmp_path)
        shutil.copy2(tmp_path / "in/z.txt", tmp_path / "in/b.txt")
        assert run(tmp_path).sources_done == 2
        found = published(tmp_path / "out")
        assert run(tmp_path).sources_skipped == 4
        assert found == fresh(tmp_path)

    def test_a_copy_is_new(self, tmp_path: Path) -> None:
        finished(tmp_path)
        shutil.copy2(tmp_path / "in/b.txt", tmp_path / "in/z.txt")
        assert run(tmp_path).sources_done == 1

    def test_two_candidates_are_not_a_rename(self, tmp_path: Path) -> None:
        before = finished(tmp_path)
        (tmp_path / "in/b.txt").rename(tmp_path / "in/y.txt")
        shutil.copy2(tmp_path / "in/y.txt", tmp_path / "in/z.txt")
        with pytest.raises(RemovedInputsError):
            run(tmp_path)
        assert published(tmp_path / "out") == before

    def test_byte_ranges_of_a_renamed_file(self, tmp_path: Path) -> None:
        write_lines(tmp_path, "a", 0, 100)
        write_lines(tmp_path, "b", 100, 100)
        first = parts(tmp_path, blocksize=400).run(HERE)
        assert first.sources_done > 10
        before = published(tmp_path / "out")
        (tmp_path / "in/a.jsonl").rename(tmp_path / "in/z.jsonl")
        result = parts(tmp_path, blocksize=400).run(HERE)
        assert (result.sources_done, result.sources_skipped) == (0, first.sources_done)
        assert published(tmp_path / "out") == before

    @pytest.mark.parametrize("name", ["a2", "z"])
    def test_sources_of_several_files(self, name: str, tmp_path: Path) -> None:
        """Also if the new name changes how files are grouped."""
        for at, letter in enumerate("abcde"):
            write_lines(tmp_path, letter, 20 * at)
        parts(tmp_path, files_per_partition=2).run(HERE)
        before = published(tmp_path / "out")
        (tmp_path / "in/b.jsonl").rename(tmp_path / f"in/{name}.jsonl")
        for _ in range(2):
            result = parts(tmp_path, files_per_partition=2).run(HERE)
            assert (result.sources_done, result.sources_skipped) == (0, 3)
            assert published(tmp_path / "out") == before
        (tmp_path / "in/c.jsonl").write_text('{"id": 1000, "text": "changed"}\n')
        parts(tmp_path, files_per_partition=2).run(HERE)
        wanted = [*range(40), *range(60, 100), 1000]
        assert record_ids(tmp_path / "out") == wanted

    def test_output_of_a_regrouped_source_that_is_deleted_is_made_again(
        self, tmp_path: Path
    ) -> None:
        for at, letter in enumerate("abcde"):
            write_lines(tmp_path, letter, 20 * at)
        parts(tmp_path, files_per_partition=2).run(HERE)
        (tmp_path / "in/b.jsonl").rename(tmp_path / "in/z.jsonl")
        parts(tmp_path, files_per_partition=2).run(HERE)
        min((tmp_path / "out").glob("part-*")).unlink()
        parts(tmp_path, files_per_partition=2).run(HERE)
        assert record_ids(tmp_path / "out") == list(range(100))

    def test_output_that_mixes_sources(self, tmp_path: Path) -> None:
        for name in "abcd":
            write(tmp_path, name, name)
        words_pipeline(tmp_path, Pairs()).run(Together(2))
        before = published(tmp_path / "out")
        (tmp_path / "in/b.txt").rename(tmp_path / "in/z.txt")
        result = words_pipeline(tmp_path, Pairs()).run(Together(2))
        assert (result.sources_done, result.sources_skipped) == (0, 4)
        assert published(tmp_path / "out") == before
        write(tmp_path, "a", "changed", age=77)
        result = words_pipeline(tmp_path, Pairs()).run(Together(2))
        assert (result.sources_done, result.sources_skipped) == (2, 2)

    def test_quarantined_records_run_again_under_the_new_name(self, tmp_path: Path) -> None:
        write(tmp_path, "a", "one bad1")
        run(tmp_path)
        (tmp_path / "in/a.txt").rename(tmp_path / "in/z.txt")
        result = run(tmp_path)
        assert result.sources_done == 1
        assert [record.source for record in result.quarantined] == [str(tmp_path / "in/z.txt")]
        assert published(tmp_path / "out") == fresh(tmp_path)

    def test_an_object_is_known_by_its_etag(self, objects: MemoryFileSystem) -> None:
        stages = [JsonlReader("memory://inputs/in"), JsonlWriter("memory://inputs/out")]
        for name in "ab":
            objects.pipe_file(f"/inputs/in/{name}.jsonl", f'{{"text": "{name}"}}\n'.encode())
        Pipeline("objects", stages=stages).run(HERE)
        objects.mv("/inputs/in/a.jsonl", "/inputs/in/z.jsonl")
        result = Pipeline("objects", stages=stages).run(HERE)
        assert (result.sources_done, result.sources_skipped) == (0, 2)


@pytest.fixture
def objects(monkeypatch: pytest.MonkeyPatch) -> Iterator[MemoryFileSystem]:
    """A store whose objects have ETags."""
    fs = MemoryFileSystem()

    def tagged(function: Callable[..., Any]) -> Callable[..., Any]:
        def with_etags(self: MemoryFileSystem, *args: Any, **options: Any) -> Any:
            found = function(self, *args, **options)
            for info in found if isinstance(found, list) else [found]:
                if isinstance(info, dict) and info["type"] == "file":
                    info["ETag"] = str(hash(fs.cat_file(info["name"])))
            return found

        return with_etags

    for name in ("ls", "info"):
        monkeypatch.setattr(MemoryFileSystem, name, tagged(getattr(MemoryFileSystem, name)))
    yield fs
    fs.rm("/inputs", recursive=True)


class TestStopping:
    def test_nothing_is_written_and_files_are_listed(self, tmp_path: Path) -> None:
        finished(tmp_path)
        (tmp_path / "in/b.txt").unlink()
        write(tmp_path, "d", "new")
        write(tmp_path, "c", "changed", age=77)
        before = everything(tmp_path / "out")
        with pytest.raises(RemovedInputsError) as caught:
            run(tmp_path)
        assert everything(tmp_path / "out") == before
        message = str(caught.value)
        assert str(tmp_path / "in/b.txt") in message
        assert str(tmp_path / "in/d.txt") in message
        assert "--prune" in message
        assert "--keep-removed" in message

    def test_a_long_list_is_cut(self, tmp_path: Path) -> None:
        for number in range(40):
            write(tmp_path, f"{number:02}", "x")
        run(tmp_path)
        for number in range(1, 40):
            (tmp_path / f"in/{number:02}.txt").unlink()
        with pytest.raises(RemovedInputsError, match=r"39 input files") as message:
            run(tmp_path)
        assert str(message.value).count(str(tmp_path / "in")) == 10
        assert "29 more" in str(message.value)

    def test_removed_files_without_output_do_not_stop_the_run(self, tmp_path: Path) -> None:
        """For example, after a broken file was removed."""
        write(tmp_path, "a", "one")
        write(tmp_path, "b", "bad1")
        run(tmp_path)
        (tmp_path / "in/b.txt").unlink()
        result = run(tmp_path)
        assert (result.sources_skipped, result.quarantined) == (1, [])

    def test_an_unknown_policy_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(PipelineError, match=r"removed_inputs is 'purge'"):
            run(tmp_path, removed_inputs="purge")

    def test_an_input_whose_files_were_all_removed(self, tmp_path: Path) -> None:
        finished(tmp_path)
        before = published(tmp_path / "out")
        (tmp_path / "in").rename(tmp_path / "held")
        (tmp_path / "in").mkdir()
        pipeline = words_pipeline(tmp_path)
        pipeline.allow_empty = True
        for choice in ("stop", "prune"):
            with pytest.raises(RemovedInputsError, match="mounted"):
                pipeline.run(HERE, removed_inputs=choice)  # type: ignore[arg-type]
        pipeline.run(HERE, removed_inputs="keep")
        assert published(tmp_path / "out") == before


class TestKeeping:
    def test_output_of_removed_files_stays(self, tmp_path: Path) -> None:
        before = finished(tmp_path)
        (tmp_path / "in/b.txt").unlink()
        result = run(tmp_path, removed_inputs="keep")
        assert (result.sources_done, result.sources_skipped) == (0, 2)
        assert published(tmp_path / "out") == before
        assert any("no longer exist" in note for note in result.notes)

    def test_output_that_a_removed_file_shares_with_others_stays(self, tmp_path: Path) -> None:
        for at, letter in enumerate("abcd"):
            write_lines(tmp_path, letter, 20 * at)
        parts(tmp_path, files_per_partition=2).run(HERE)
        before = published(tmp_path / "out")
        (tmp_path / "in/a.jsonl").unlink()
        result = parts(tmp_path, files_per_partition=2).run(HERE, removed_inputs="keep")
        assert result.sources_done == 0
        assert published(tmp_path / "out") == before
        parts(tmp_path, files_per_partition=2).run(HERE, removed_inputs="prune")
        assert record_ids(tmp_path / "out") == list(range(20, 80))

    def test_output_that_cannot_be_kept_is_refused(self, tmp_path: Path) -> None:
        for at, letter in enumerate("abcd"):
            write_lines(tmp_path, letter, 20 * at)
        parts(tmp_path, files_per_partition=2).run(HERE)
        (tmp_path / "in/a.jsonl").unlink()
        write_lines(tmp_path, "b", 100)
        before = everything(tmp_path / "out")
        with pytest.raises(RemovedInputsError, match="cannot be kept"):
            parts(tmp_path, files_per_partition=2).run(HERE, removed_inputs="keep")
        assert everything(tmp_path / "out") == before


class TestPruning:
    def test_output_of_removed_files_is_deleted(self, tmp_path: Path) -> None:
        finished(tmp_path)
        (tmp_path / "in/b.txt").unlink()
        (tmp_path / "out/theirs.txt").write_text("not ours")
        result = run(tmp_path, removed_inputs="prune")
        assert (result.sources_done, result.sources_skipped) == (0, 2)
        found = published(tmp_path / "out")
        assert found.pop("theirs.txt") == b"not ours"
        assert found == fresh(tmp_path)
        assert run(tmp_path).sources_skipped == 2

    def test_without_confirmation_it_is_only_listed(self, tmp_path: Path) -> None:
        finished(tmp_path)
        (tmp_path / "in/a.txt").unlink()
        before = everything(tmp_path / "out")
        with pytest.raises(RemovedInputsError) as caught:
            run(tmp_path, removed_inputs=InputPolicy("prune", confirmed=False))
        assert everything(tmp_path / "out") == before
        assert str(caught.value).count(f"{tmp_path}/out/part-") == 2
        assert "--yes" in str(caught.value)

    def test_remaining_sources_of_mixed_output_run_again(self, tmp_path: Path) -> None:
        for name in "abcd":
            write(tmp_path, name, name)
        words_pipeline(tmp_path, Pairs()).run(Together(2))
        (tmp_path / "in/b.txt").unlink()
        result = words_pipeline(tmp_path, Pairs()).run(Together(2), removed_inputs="prune")
        assert (result.sources_done, result.sources_skipped) == (1, 2)
        texts = [path.read_text().strip() for path in (tmp_path / "out").glob("part-*")]
        wanted = [hashlib.sha1(word.encode()).hexdigest() for word in "acd"]
        assert sorted(word for text in texts for word in text.split("+")) == sorted(wanted)
        assert hidden_leftovers(tmp_path / "out") == []

    def test_output_of_retries_is_deleted_too(self, tmp_path: Path) -> None:
        write(tmp_path, "a", "one bad1")
        write(tmp_path, "b", "two")
        run(tmp_path)
        (tmp_path / "mended").touch()
        words_pipeline(tmp_path).retry(str(tmp_path / "out/.curator/words"), HERE)
        (tmp_path / "in/a.txt").unlink()
        run(tmp_path, removed_inputs="prune")
        found = published(tmp_path / "out")
        assert found == fresh(tmp_path)


def known(**files: str) -> dict[str, set[State]]:
    """States of whole files, and of parts of 10 bytes if several versions are given."""
    return {
        name: {(version, 10 * at, None) for at, version in enumerate(versions.split())}
        for name, versions in files.items()
    }


class TestFindRenames:
    def test_one_to_one(self) -> None:
        assert find_renames(known(a="3:1", b="4:1"), known(c="3:1")) == {"a": "c"}

    def test_a_file_of_which_a_part_was_done(self) -> None:
        assert find_renames(known(a="3:1"), known(c="3:1 3:1 2:1")) == {"a": "c"}

    @pytest.mark.parametrize(
        ("removed", "new"),
        [
            (known(a="3:1", b="3:1"), known(c="3:1")),
            (known(a="3:1"), known(c="3:1", d="3:1")),
            (known(a="3:1 4:1"), known(c="3:1")),
            (known(a="3:"), known(c="3:")),
            (known(a="3:1"), known(c="3:2")),
        ],
    )
    def test_everything_else_is_not_a_rename(
        self, removed: dict[str, set[State]], new: dict[str, set[State]]
    ) -> None:
        assert find_renames(removed, new) == {}


class TestMatchSources:
    def test_the_same_parts_in_other_groups(self) -> None:
        a, b, c, d = (Origin(name, "1:1") for name in "abcd")
        found = match_sources({"ab": [a, b], "cd": [c, d]}, {"ac": [a, c], "db": [d, b]})
        assert list(found) == [(["ac", "db"], ["ab", "cd"])]

    def test_an_additional_part_prevents_a_match(self) -> None:
        a, b, c = (Origin(name, "1:1") for name in "abc")
        assert list(match_sources({"ab": [a, b]}, {"ac": [a, c], "b": [b]})) == []

    def test_removed_parts_do_not_prevent_a_match(self) -> None:
        a, b = (Origin(name, "1:1") for name in "ab")
        assert list(match_sources({"ab": [a, b]}, {"b": [b]}, {"a"})) == [(["b"], ["ab"])]
        assert list(match_sources({"ab": [a, b]}, {"b": [b]})) == []
