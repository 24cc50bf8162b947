"""Run directories are not trusted blindly, and not everybody may write to them."""

import json
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from curator_core import LocalExecutor, OutputError, Pipeline, ResumeError
from curator_core.run.locks import LockedFolder, lock_folder
from curator_core.run.permissions import (
    RunDirectoryDeletedError,
    make_run_folder,
    open_run_file,
    replace_run_file,
)
from runkit import WriteWords, published, words_pipeline, write_inputs

HERE = LocalExecutor(workers=0)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(name="run_dir")
def _run_dir(tmp_path: Path) -> Path:
    write_inputs(tmp_path, ["a", "b bad1"])
    words_pipeline(tmp_path).run(HERE)
    return tmp_path / "out/.curator/words"


@pytest.fixture(name="victim")
def _victim(tmp_path: Path) -> Path:
    """Somebody else's file, which no run may touch."""
    path = tmp_path / "home/id_rsa"
    path.parent.mkdir()
    path.write_text("precious")
    return path


def add_entry(run_dir: Path, **facts: Any) -> None:
    with (run_dir / "journal.jsonl").open("a") as journal:
        journal.write(json.dumps(facts) + "\n")


def commit(staged: object, final: object) -> dict[str, Any]:
    files = [[str(staged), str(final), 1, 1, False]]
    return {"event": "commit", "sources": ["f" * 32], "origins": {}, "files": files, "counts": {},
            "lost": False}  # fmt: skip


def staged_victim(folder: Path, victim: Path) -> dict[str, Any]:
    return commit(victim, folder / "out/part-1")


def published_victim(folder: Path, victim: Path) -> dict[str, Any]:
    return commit(victim, victim)


def victim_by_dots(folder: Path, victim: Path) -> dict[str, Any]:
    name = f"{folder}/out/../home/{victim.name}"
    return commit(name, name)


def victim_by_link(folder: Path, victim: Path) -> dict[str, Any]:
    (folder / "out/more").symlink_to(victim.parent)
    return commit(folder / f"out/more/{victim.name}", folder / f"out/more/{victim.name}")


def retracted_victim(folder: Path, victim: Path) -> dict[str, Any]:
    return {"event": "retract", "sources": [], "files": [str(victim)]}


def file_of_a_run(folder: Path, victim: Path) -> dict[str, Any]:
    name = folder / "out/.curator/words/run.json"
    return commit(name, name)


class TestJournal:
    @pytest.mark.parametrize("resume", [True, False])
    @pytest.mark.parametrize(
        "forge",
        [staged_victim, published_victim, victim_by_dots, victim_by_link, retracted_victim,
         file_of_a_run],
    )  # fmt: skip
    def test_only_files_in_the_outputs_are_moved_or_deleted(
        self,
        forge: Callable[[Path, Path], dict[str, Any]],
        resume: bool,
        tmp_path: Path,
        run_dir: Path,
        victim: Path,
    ) -> None:
        before = published(tmp_path / "out")
        add_entry(run_dir, **forge(tmp_path, victim))
        if forge is retracted_victim and not resume:
            words_pipeline(tmp_path).run(HERE, resume=False)
        else:
            with pytest.raises(ResumeError, match=r"not in an output folder .*delete .*/words"):
                words_pipeline(tmp_path).run(HERE, resume=resume)
            assert before.items() <= published(tmp_path / "out").items()
        assert victim.read_text() == "precious"
        assert (run_dir / "run.json").exists()

    def test_a_writer_that_writes_elsewhere_is_refused(self, tmp_path: Path) -> None:
        class Astray(WriteWords):
            def process(self, task: Any) -> Any:
                home, self.output_path = self.output_path, f"{self.output_path}-2"
                try:
                    return super().process(task)
                finally:
                    self.output_path = home

        write_inputs(tmp_path, ["a"])
        stages = [*words_pipeline(tmp_path).stages[:-1], Astray(str(tmp_path / "out"))]
        with pytest.raises(OutputError, match="output_path"):
            Pipeline("words", stages=stages).run(HERE)

    @pytest.mark.parametrize("deleted", ["journal.jsonl", "lock"])
    def test_one_that_is_deleted_during_the_run_ends_it(self, tmp_path: Path, deleted: str) -> None:
        class Forgetful(WriteWords):
            def process(self, task: Any) -> Any:
                written = super().process(task)
                (Path(self.output_path) / ".curator/words" / deleted).unlink(missing_ok=True)
                return written

        write_inputs(tmp_path, ["a", "b"])
        stages = [*words_pipeline(tmp_path).stages[:-1], Forgetful(str(tmp_path / "out"))]
        with pytest.raises(RunDirectoryDeletedError, match=deleted):
            Pipeline("words", stages=stages).run(HERE)
        assert published(tmp_path / "out") == {}


class TestLinks:
    @pytest.mark.parametrize("name", ["lock", "journal.jsonl", "events.jsonl", "run.json.tmp"])
    def test_links_in_a_run_directory_are_not_followed(
        self, name: str, tmp_path: Path, run_dir: Path, victim: Path
    ) -> None:
        (run_dir / name).unlink(missing_ok=True)
        (run_dir / name).symlink_to(victim)
        for resume in (True, False):
            with pytest.raises(ResumeError, match=rf"{name} is a symbolic link"):
                words_pipeline(tmp_path).run(HERE, resume=resume)
        assert victim.read_text() == "precious"

    def test_links_to_folders_are_not_followed(
        self, tmp_path: Path, run_dir: Path, victim: Path
    ) -> None:
        (run_dir / "quarantine").rename(run_dir / "elsewhere")
        (run_dir / "quarantine").symlink_to(victim.parent)
        (victim.parent / "notes.jsonl").touch()
        with pytest.raises(ResumeError, match="quarantine is a symbolic link"):
            words_pipeline(tmp_path).run(HERE)
        assert (victim.parent / "notes.jsonl").exists()

    def test_links_made_during_the_run_are_not_followed(self, tmp_path: Path, victim: Path) -> None:
        (tmp_path / "lock").symlink_to(victim)
        with pytest.raises(ResumeError):
            open_run_file(str(tmp_path / "lock"), os.O_RDWR | os.O_CREAT)
        (tmp_path / "run.json.tmp").symlink_to(victim)
        with pytest.raises(ResumeError):
            replace_run_file(str(tmp_path / "run.json"), b"{}")
        assert victim.read_text() == "precious"

    def test_a_run_directory_may_be_a_link_itself(self, tmp_path: Path) -> None:
        write_inputs(tmp_path, ["a"])
        (tmp_path / "fast").mkdir()
        (tmp_path / "run").symlink_to(tmp_path / "fast")
        words_pipeline(tmp_path).run(HERE, run_dir=tmp_path / "run")
        assert (tmp_path / "fast/run.json").exists()


@pytest.fixture(name="open_umask")
def _open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


class TestModes:
    def test_a_run_directory_that_everybody_may_write_to_is_refused(self, tmp_path: Path) -> None:
        write_inputs(tmp_path, ["a"])
        home = tmp_path / "run"
        home.mkdir()
        home.chmod(0o777)
        with pytest.raises(ResumeError, match=f"chmod o-w {home}"):
            words_pipeline(tmp_path).run(HERE, run_dir=home)
        assert not (tmp_path / "out").exists()
        assert list(home.iterdir()) == []

    def test_a_workflow_folder_that_everybody_may_write_to_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / ".curator").mkdir()
        (tmp_path / ".curator").chmod(0o777)
        with pytest.raises(ResumeError, match="chmod"):
            lock_folder(LockedFolder(str(tmp_path)))

    def test_one_below_a_folder_such_as_tmp_is_fine(self, tmp_path: Path) -> None:
        tmp_path.chmod(0o1777)
        make_run_folder(str(tmp_path / "run"))
        assert mode(tmp_path / "run") == 0o755

    @pytest.mark.usefixtures("open_umask")
    def test_only_its_owner_writes_to_it_and_reads_the_quarantine(self, run_dir: Path) -> None:
        assert mode(run_dir) == 0o755
        assert mode(run_dir / "quarantine") == 0o700
        files = [path for path in run_dir.rglob("*") if path.is_file()]
        assert {mode(path) for path in files} == {0o644}

    def test_the_group_may_use_a_shared_one(self, tmp_path: Path) -> None:
        write_inputs(tmp_path, ["a", "bad1"])
        words_pipeline(tmp_path).run(HERE, shared=True)
        run_dir = tmp_path / "out/.curator/words"
        assert mode(run_dir) & 0o070 == 0o070
        assert mode(run_dir / "quarantine") & 0o777 == 0o770
        files = [path for path in run_dir.rglob("*") if path.is_file()]
        assert {mode(path) for path in files} == {0o664}
