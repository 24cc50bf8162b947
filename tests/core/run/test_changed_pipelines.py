"""A run resumed after its inputs or outputs changed has the output of a fresh one."""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from curator_core import LocalExecutor, OutputError, Pipeline, ResumeError, RunResult
from curator_core.io.readers import JsonlReader
from curator_core.io.writers import JsonlWriter
from jobkit import record_ids, write_records
from runkit import (
    Pairs,
    Together,
    hidden_leftovers,
    published,
    words_pipeline,
    write_input,
    write_inputs,
)

HERE = LocalExecutor(workers=0)
TEXTS = ["a b", "c", "d e f", "drop1", "bad1"]


def run(folder: Path) -> RunResult:
    return words_pipeline(folder).run(HERE)


def finished(folder: Path) -> None:
    write_inputs(folder, TEXTS)
    run(folder)


def account(result: RunResult) -> dict[str, Any]:
    return {
        name: {key: value for key, value in vars(counts).items() if key != "seconds"}
        for name, counts in result.stages.items()
    }


def is_as_if_fresh(folder: Path, redone: int) -> RunResult:
    """Run again: `redone` sources run, and the output is that of a fresh run."""
    result = run(folder)
    found = published(folder / "out")
    assert result.sources_done == redone
    assert hidden_leftovers(folder / "out") == []
    shutil.rmtree(folder / "out")
    fresh = run(folder)
    assert found == published(folder / "out")
    assert account(result) == account(fresh)
    assert [r.task_id for r in result.quarantined] == [r.task_id for r in fresh.quarantined]
    assert (result.files, result.status) == (fresh.files, "done")
    return result


class TestInputs:
    def test_nothing_changed(self, tmp_path: Path) -> None:
        finished(tmp_path)
        result = is_as_if_fresh(tmp_path, redone=0)
        assert result.sources_skipped == 5
        assert result.notes == []

    @pytest.mark.parametrize("text", ["x yz", "a b c", ""])
    def test_a_file_that_changed(self, text: str, tmp_path: Path) -> None:
        finished(tmp_path)
        write_input(tmp_path, "000", text)
        assert is_as_if_fresh(tmp_path, redone=1).notes == [
            "retracted the output of 1 source: their inputs have changed"
        ]

    def test_a_file_of_the_same_size_but_another_age(self, tmp_path: Path) -> None:
        finished(tmp_path)
        (tmp_path / "in/000.txt").write_text("z z")
        is_as_if_fresh(tmp_path, redone=1)

    def test_a_new_file(self, tmp_path: Path) -> None:
        finished(tmp_path)
        write_input(tmp_path, "000x", "new")
        assert is_as_if_fresh(tmp_path, redone=1).notes == []

    def test_a_quarantined_record_is_corrected_in_its_file(self, tmp_path: Path) -> None:
        finished(tmp_path)
        write_input(tmp_path, "004", "better")
        assert is_as_if_fresh(tmp_path, redone=1).quarantined == []

    def test_a_file_that_was_retried_changes(self, tmp_path: Path) -> None:
        """Output of the retry is retracted with that of the first attempt."""
        write_inputs(tmp_path, ["a bad1 b", "c"])
        run(tmp_path)
        (tmp_path / "mended").touch()
        words_pipeline(tmp_path).retry(str(tmp_path / "out/.curator/words"), HERE)
        assert len(list((tmp_path / "out").glob("part-*"))) == 4
        write_input(tmp_path, "000", "d")
        is_as_if_fresh(tmp_path, redone=1)

    def test_sources_that_were_published_together(self, tmp_path: Path) -> None:
        """The other source of a changed pair was already skipped; it runs again too."""
        write_inputs(tmp_path, ["a", "b", "c", "d"])
        words_pipeline(tmp_path, Pairs()).run(Together(2))
        write_input(tmp_path, "001", "b2")
        result = words_pipeline(tmp_path, Pairs()).run(Together(2))
        assert (result.sources_done, result.sources_skipped) == (2, 2)
        assert len(list((tmp_path / "out").glob("part-*"))) == 2
        (tmp_path / "in/002.txt").unlink()
        result = words_pipeline(tmp_path, Pairs()).run(Together(2), removed_inputs="keep")
        assert (result.sources_done, result.sources_skipped) == (0, 3)
        assert len(list((tmp_path / "out").glob("part-*"))) == 2

    def test_names_that_are_not_unicode(self, tmp_path: Path) -> None:
        write_inputs(tmp_path, ["a"])
        strange = os.fsencode(tmp_path / "in") + b"/caf\xe9.txt"
        with open(strange, "w") as file:
            file.write("b bad1")
        first = run(tmp_path)
        assert first.sources_done == 2
        assert first.quarantined[0].source == os.fsdecode(strange)
        assert run(tmp_path).sources_skipped == 2


class TestOutputs:
    def test_a_file_that_was_deleted_is_made_again(self, tmp_path: Path) -> None:
        finished(tmp_path)
        min((tmp_path / "out").glob("part-*")).unlink()
        is_as_if_fresh(tmp_path, redone=1)

    def test_a_manifest_that_was_deleted_is_made_again(self, tmp_path: Path) -> None:
        finished(tmp_path)
        (tmp_path / "out/_manifest.json").unlink()
        is_as_if_fresh(tmp_path, redone=0)

    def test_all_of_them(self, tmp_path: Path) -> None:
        finished(tmp_path)
        for path in (tmp_path / "out").glob("part-*"):
            path.unlink()
        is_as_if_fresh(tmp_path, redone=3)

    def test_files_of_others_stay(self, tmp_path: Path) -> None:
        finished(tmp_path)
        (tmp_path / "out/README").write_text("mine")
        run(tmp_path)
        assert (tmp_path / "out/README").read_text() == "mine"


class TestParts:
    """A large file is several sources; a change of the file changes all of them."""

    def pipeline(self, folder: Path) -> Pipeline:
        stages = [JsonlReader(str(folder / "in"), blocksize=400), JsonlWriter(str(folder / "out"))]
        return Pipeline("parts", stages=stages)

    def test_lines_that_were_appended(self, tmp_path: Path) -> None:
        write_records(tmp_path, 2, 100)
        first = self.pipeline(tmp_path).run(HERE)
        assert first.sources_done > 10
        with (tmp_path / "in/00001.jsonl").open("a") as file:
            file.write('{"id": 200, "text": "more"}\n')
        second = self.pipeline(tmp_path).run(HERE)
        assert second.sources_skipped == second.sources_done - 1 + (first.sources_done % 2)
        assert record_ids(tmp_path / "out") == list(range(201))

    def test_a_file_that_became_shorter(self, tmp_path: Path) -> None:
        write_records(tmp_path, 2, 100)
        self.pipeline(tmp_path).run(HERE)
        write_records(tmp_path, 1, 10)
        self.pipeline(tmp_path).run(HERE)
        assert record_ids(tmp_path / "out") == [*range(10), *range(100, 200)]


class TestPipelines:
    def test_a_change_is_refused_and_shown(self, tmp_path: Path) -> None:
        finished(tmp_path)
        before = published(tmp_path / "out")
        changed = words_pipeline(tmp_path, work_s=0.5)
        changed.stages[0].folder = "elsewhere"  # type: ignore[attr-defined]
        with pytest.raises(ResumeError) as caught:
            changed.run(HERE)
        assert str(caught.value) == (
            f"the pipeline 'words' has changed since the run in {tmp_path}/out/.curator/words:\n"
            f"  stage 'list_files': folder '{tmp_path}/in' became 'elsewhere'\n"
            "  stage 'judge': work_s 0.0 became 0.5\n"
            "Its results would be mixed with the earlier ones. Undo the change, write to another "
            "folder, or start over with resume=False (--no-resume)"
        )
        assert published(tmp_path / "out") == before
        is_as_if_fresh(tmp_path, redone=0)

    def test_stages_that_come_go_and_move(self, tmp_path: Path) -> None:
        finished(tmp_path)
        with pytest.raises(ResumeError, match="stage 'pairs' is new"):
            words_pipeline(tmp_path, Pairs()).run(HERE)
        moved = words_pipeline(tmp_path)
        moved.stages[2] = moved.stages[2].with_(name="judging")
        with pytest.raises(ResumeError, match=r"'judge' was removed\n  stage 'judging' is new"):
            moved.run(HERE)

    def test_options_that_only_affect_speed_are_not_changes(self, tmp_path: Path) -> None:
        finished(tmp_path)
        faster = words_pipeline(tmp_path)
        faster.stages[2] = faster.stages[2].with_(batch_size=7, num_workers=3, retries=1)
        assert faster.run(HERE).sources_skipped == 5


def test_starting_over_replaces_the_output_of_the_same_run(tmp_path: Path) -> None:
    finished(tmp_path)
    (tmp_path / "in/002.txt").unlink()
    result = words_pipeline(tmp_path).run(HERE, resume=False)
    assert (result.sources_done, result.sources_skipped) == (4, 0)
    found = published(tmp_path / "out")
    shutil.rmtree(tmp_path / "out")
    run(tmp_path)
    assert found == published(tmp_path / "out")


def test_starting_over_keeps_files_of_others(tmp_path: Path) -> None:
    finished(tmp_path)
    (tmp_path / "out/theirs.txt").write_text("work of a week")
    before = published(tmp_path / "out")
    with pytest.raises(OutputError, match=r"other data \(theirs.txt\)"):
        words_pipeline(tmp_path).run(HERE, resume=False)
    assert published(tmp_path / "out") == before
