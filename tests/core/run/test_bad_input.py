"""Bad input gets one clear sentence with the place and the way out; nothing is lost."""

import errno
import json
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from curator_core import (
    CuratorError,
    DocumentBatch,
    LocalExecutor,
    OutputError,
    Pipeline,
    PipelineError,
    PluginError,
    ProcessingStage,
    ResourceError,
    Resources,
    ResumeError,
    StageError,
    Task,
)
from curator_core.io.readers import JsonlReader
from curator_core.io.writers import JsonlWriter
from curator_core.model.stages import AnyStage
from curator_core.run import events
from jobkit import JOB, record_ids, write_records
from runkit import hidden_leftovers, published

HERE = LocalExecutor(workers=0)
JOBS = JOB.parent


def pipeline(folder: Path, *between: AnyStage, reader: AnyStage | None = None) -> Pipeline:
    first = reader or JsonlReader(str(folder / "in"))
    stages = [first, *between, JsonlWriter(str(folder / "out"))]
    return Pipeline("job", stages=stages, max_failures=None)


def refused(run: Callable[[], object], kind: type[CuratorError], code: int = 2) -> str:
    """Return the message of the error."""
    with pytest.raises(kind) as caught:
        run()
    assert caught.value.exit_code == code
    message = str(caught.value)
    assert "Traceback" not in message
    return message


class Lower(ProcessingStage[DocumentBatch, DocumentBatch]):
    """Reads a column."""

    def __init__(self, text_field: str = "text") -> None:
        self.text_field = text_field

    def inputs(self) -> list[str]:
        return [self.text_field]

    def process(self, task: DocumentBatch) -> DocumentBatch:
        return task


class Picture(Task[bytes]):
    """A task that no reader of documents returns."""


class SeesPictures(ProcessingStage[Picture, Picture]):
    def process(self, task: Picture) -> Picture:
        return task


class TestPaths:
    def test_a_path_that_matches_nothing(self, tmp_path: Path) -> None:
        write_records(tmp_path, 1, 1)
        for name in ("notes.csv", "more.csv"):
            (tmp_path / "in" / name).write_text("")
        reader = JsonlReader(str(tmp_path / "in/*.jsonl.gz"))
        message = refused(lambda: pipeline(tmp_path, reader=reader).run(HERE), PipelineError)
        assert message == (
            f"stage 1 'jsonl_reader_files': no files match {tmp_path}/in/*.jsonl.gz "
            f"(nearest existing folder: {tmp_path}/in, with 2 .csv and 1 .jsonl files)"
        )
        assert not (tmp_path / "out").exists()

    def test_a_file_that_is_deleted_during_the_run(self, tmp_path: Path) -> None:
        write_records(tmp_path, 3, 2)
        stream = pipeline(tmp_path).stream(HERE)
        next(stream)
        (tmp_path / "in/00002.jsonl").unlink()
        list(stream)
        [record] = stream.result.quarantined
        assert record.reason == (
            f"cannot read {tmp_path}/in/00002.jsonl: it does not exist (any more)"
        )
        assert record.source == f"{tmp_path}/in/00002.jsonl"
        assert record_ids(tmp_path / "out") == [0, 1, 2, 3]


def run_without_rights(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(JOBS / "without_rights.py"), str(JOB), str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


class TestPermissions:
    def test_the_first_file_may_not_be_read(self, tmp_path: Path) -> None:
        write_records(tmp_path, 3, 2)
        (tmp_path / "in/00000.jsonl").chmod(0)
        done = run_without_rights(tmp_path)
        assert done.returncode == 2
        assert done.stderr == (
            f"stage 1 'jsonl_reader_files': cannot read {tmp_path}/in/00000.jsonl: "
            "permission denied; allow reading it\n"
        )

    def test_a_later_file_may_not_be_read(self, tmp_path: Path) -> None:
        write_records(tmp_path, 3, 2)
        (tmp_path / "in/00001.jsonl").chmod(0)
        done = run_without_rights(tmp_path)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["reasons"] == [
            f"cannot read {tmp_path}/in/00001.jsonl: permission denied; allow reading it"
        ]
        assert record_ids(tmp_path / "out") == [0, 1, 4, 5]

    def test_a_folder_that_may_not_be_listed(self, tmp_path: Path) -> None:
        write_records(tmp_path, 1, 2)
        (tmp_path / "in").chmod(0)
        done = run_without_rights(tmp_path)
        (tmp_path / "in").chmod(0o755)
        assert done.returncode == 2
        assert (
            f"cannot list folder {tmp_path}/in: permission denied; allow reading it" in done.stderr
        )
        assert "Traceback" not in done.stderr

    def test_a_folder_that_may_not_be_written_to(self, tmp_path: Path) -> None:
        write_records(tmp_path, 1, 2)
        (tmp_path / "out").mkdir(mode=0o555)
        done = run_without_rights(tmp_path)
        assert done.returncode == 2
        assert done.stderr == (
            f"stage 5 'jsonl_writer': cannot write to {tmp_path}/out: permission denied in "
            f"{tmp_path}/out; allow writing there or choose another folder\n"
        )

    def test_a_run_directory_that_cannot_be_made(self, tmp_path: Path) -> None:
        write_records(tmp_path, 1, 2)
        (tmp_path / "file").write_text("")
        place = str(tmp_path / "file/run")
        message = refused(lambda: pipeline(tmp_path).run(HERE, run_dir=place), ResumeError)
        assert message == (
            f"cannot make the run directory {place}: Not a directory; "
            "allow writing there, or choose another place with run_dir (--run-dir)"
        )

    def test_a_run_directory_that_cannot_be_made_in_the_output_folder(self, tmp_path: Path) -> None:
        write_records(tmp_path, 1, 2)
        (tmp_path / "out").mkdir()
        (tmp_path / "out/.curator").write_text("")
        message = refused(lambda: pipeline(tmp_path).run(HERE), ResumeError)
        assert message == (
            f"cannot make the run directory {tmp_path}/out/.curator/job: Not a directory; allow "
            "writing there, give stage 'jsonl_writer' another output_path, or choose another place "
            "with run_dir (--run-dir)"
        )


class TestPlans:
    """Problems that can be found before anything runs."""

    def test_a_column_that_no_stage_adds(self, tmp_path: Path) -> None:
        write_records(tmp_path, 1, 1)
        message = refused(lambda: pipeline(tmp_path, Lower("txt")).run(HERE), PipelineError)
        assert message == (
            "stage 3 'lower': it reads column 'txt', which nothing before it adds "
            "(did you mean text?); set text_field: text?"
        )

    def test_a_column_missing_in_some_files(self, tmp_path: Path) -> None:
        write_records(tmp_path, 1, 2)
        (tmp_path / "in/x.jsonl").write_text('{"txet": "a", "id": 7}\n')
        [record] = pipeline(tmp_path, Lower()).run(HERE).quarantined
        assert "no column 'text' (did you mean txet?)" in record.reason
        assert record.source == f"{tmp_path}/in/x.jsonl"

    def test_stages_in_an_order_that_cannot_fit(self, tmp_path: Path) -> None:
        write_records(tmp_path, 1, 1)
        message = refused(lambda: pipeline(tmp_path, SeesPictures()).run(HERE), PipelineError)
        assert message.splitlines()[0] == (
            "stage 3 'sees_pictures': it takes Picture, but 'jsonl_reader' before it returns "
            "DocumentBatch; put a stage between them that makes one of the other"
        )

    def test_a_reader_after_other_stages(self, tmp_path: Path) -> None:
        write_records(tmp_path, 1, 1)
        line = pipeline(tmp_path)
        line.stages = [Lower(), *line.stages]
        message = refused(lambda: line.run(HERE), PipelineError)
        assert "it takes Empty, but 'lower' before it returns DocumentBatch" in message

    def test_a_pipeline_without_a_reader(self, tmp_path: Path) -> None:
        line = Pipeline("job", stages=[Lower()])
        message = refused(lambda: line.run(HERE), PipelineError)
        assert message == (
            "stage 'lower' takes DocumentBatch, but nothing comes before it; "
            "begin with a reader, or give run(tasks=[...])"
        )

    def test_every_problem_at_once(self, tmp_path: Path) -> None:
        write_records(tmp_path, 1, 1)
        crowded = [Lower().with_(batch_size=0), Lower().with_(num_workers=0)]
        message = refused(lambda: pipeline(tmp_path, *crowded).run(HERE), PipelineError)
        assert message.splitlines() == [
            "stage 4 'lower': it has the same name as stage 3; give it another with "
            ".with_(name='lower_2')",
            "stage 3 'lower': batch_size is 0, but must be 1 or more",
            "stage 4 'lower': num_workers is 0, but must be 1 or more",
        ]

    def test_no_stages(self) -> None:
        message = refused(lambda: Pipeline("job").run(HERE), PipelineError)
        assert message == "pipeline 'job' has no stages; add one with add_stage()"

    def test_an_invalid_policy(self, tmp_path: Path) -> None:
        write_records(tmp_path, 1, 1)
        odd = pipeline(tmp_path)
        odd.on_error = "ignore"  # type: ignore[assignment]
        message = refused(lambda: odd.run(HERE), PipelineError)
        assert message == "on_error is 'ignore', but must be one of fail, quarantine, skip"


class TestNames:
    def test_an_executor(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        write_records(tmp_path, 1, 1)
        message = refused(lambda: pipeline(tmp_path).run("locl"), PluginError)
        assert message == "no executor named 'locl' (did you mean core.local?)"
        monkeypatch.setenv("CURATOR_EXECUTOR", "core.lokal")
        message = refused(lambda: pipeline(tmp_path).run(), PluginError)
        assert message == "no executor named 'core.lokal' (did you mean core.local?)"

    def test_a_stage_in_a_recipe(self) -> None:
        recipe = "name: job\ninput:\n  stage: core.jsonl_raeder\n  file_paths: x\n"
        message = refused(lambda: Pipeline.from_yaml(recipe), PipelineError)
        assert "no stage named 'core.jsonl_raeder' (did you mean core.jsonl_reader?)" in message

    def test_a_setting(self) -> None:
        with pytest.raises(TypeError, match=r"with_\(\) cannot change batchsize of stage 'lower'"):
            Lower().with_(batchsize=3)


class TestResources:
    @pytest.mark.parametrize("resources", [Resources(gpus=1), Resources(gpu_memory_gb=8)])
    def test_a_gpu_on_a_machine_without_one(
        self, resources: Resources, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
        write_records(tmp_path, 1, 1)
        line = pipeline(tmp_path, Lower().with_(resources=resources))
        message = refused(lambda: line.run(HERE), ResourceError, code=5)
        asked = "1 GPU" if resources.gpus else "8 GB of a GPU"
        assert message == (
            f"stage 3 'lower' asks for {asked}, but this machine has none; run it where there "
            "is one, or set its resources without a GPU if it can do without"
        )
        assert not (tmp_path / "out").exists()


class TestOutputs:
    def test_a_folder_that_holds_other_data(self, tmp_path: Path) -> None:
        write_records(tmp_path, 1, 1)
        (tmp_path / "out").mkdir()
        (tmp_path / "out/thesis.tex").write_text("all my work")
        message = refused(lambda: pipeline(tmp_path).run(HERE), OutputError)
        assert message == (
            f"stage 'jsonl_writer': output folder {tmp_path}/out already holds other data "
            "(thesis.tex); choose an empty folder, or set the writer's mode to 'append' "
            "(to add to it) or 'overwrite' (to replace it)"
        )
        assert [path.name for path in (tmp_path / "out").glob("[!.]*")] == ["thesis.tex"]

    def test_a_file_where_the_folder_should_be(self, tmp_path: Path) -> None:
        write_records(tmp_path, 1, 1)
        (tmp_path / "out").write_text("")
        message = refused(lambda: pipeline(tmp_path).run(HERE), PipelineError)
        assert message == (
            f"stage 3 'jsonl_writer': cannot write to {tmp_path}/out: it is a file, "
            "not a folder; choose another folder"
        )

    def test_two_runs_in_one_run_directory(self, tmp_path: Path) -> None:
        write_records(tmp_path, 3, 1)
        with pipeline(tmp_path).stream(HERE) as stream:
            next(stream)
            message = refused(lambda: pipeline(tmp_path).run(HERE), ResumeError)
            list(stream)
        assert message.startswith(
            f"run directory {tmp_path}/out/.curator/job is in use by process "
        )
        assert message.endswith("wait for that run to end, or give this one another run_dir")
        assert record_ids(tmp_path / "out") == [0, 1, 2]

    def test_a_run_json_that_is_damaged(self, tmp_path: Path) -> None:
        write_records(tmp_path, 1, 1)
        pipeline(tmp_path).run(HERE)
        (tmp_path / "out/.curator/job/run.json").write_text('{"fing')
        message = refused(lambda: pipeline(tmp_path).run(HERE), ResumeError)
        assert message.startswith(f"{tmp_path}/out/.curator/job/run.json is damaged (")
        assert message.endswith(f"delete {tmp_path}/out/.curator/job to start over")

    def test_a_file_size_limit(self, tmp_path: Path) -> None:
        """A limit on file sizes represents all disks that cannot be written to."""
        write_records(tmp_path, 3, 2000)
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, limits[1]))
        try:
            message = refused(lambda: pipeline(tmp_path).run(HERE), StageError, code=1)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert message.startswith(f"stage 'jsonl_writer' failed: cannot write {tmp_path}/out/part-")
        assert message.endswith(f"(source: {tmp_path}/in/00000.jsonl)")
        assert [name for name in published(tmp_path / "out") if name != "_manifest.json"] == []
        assert hidden_leftovers(tmp_path / "out") == []
        pipeline(tmp_path).run(HERE)
        assert record_ids(tmp_path / "out") == list(range(6000))


def may_mount() -> bool:
    try:
        return (
            subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode
            == 0
        )
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not may_mount(), reason="making a small disk takes the right to mount one")
def test_a_disk_that_is_full_before_or_in_the_middle_of_a_run(tmp_path: Path) -> None:
    write_records(tmp_path, 20, 1000, poison=(5500,))
    script = [sys.executable, str(JOBS / "full_disk.py"), str(tmp_path)]
    done = subprocess.run(["unshare", "-m", *script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    before, during, last = json.loads(done.stdout)
    for tried, code in ((before, 2), (during, 1)):
        assert tried["code"] == code, tried["stderr"]
        message = tried["stderr"].splitlines()[-1]
        assert str(tmp_path / "out") in message
        assert "free some space, then run the same command again" in message
        assert "Traceback" not in tried["stderr"]
        assert all(text.count("\n") == 1000 for text in tried["parts"].values())
        assert tried["hidden"] == []
    assert before["parts"] == {}
    assert last["code"] == 0, last["stderr"]
    lines = [line for text in last["parts"].values() for line in text.splitlines()]
    assert sorted(json.loads(line)["id"] for line in lines) == list(range(20_000))


@pytest.mark.parametrize(("writes", "code"), [(0, 2), (1, 1)])
def test_a_disk_that_is_full_once_something_of_the_run_itself_is_written(
    writes: int, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The exit code says whether stages ran, wherever the full disk is noticed."""
    write_records(tmp_path, 3, 1)
    open_appended, left = events._open_appended, [writes]

    def open_on_a_full_disk(path: str) -> SimpleNamespace:
        file = open_appended(path)

        def write(line: bytes) -> None:
            if left[0] == 0:
                raise OSError(errno.ENOSPC, "No space left on device")
            left[0] -= 1
            file.write(line)

        return SimpleNamespace(write=write, close=file.close)

    monkeypatch.setattr(events, "_open_appended", open_on_a_full_disk)
    message = refused(lambda: pipeline(tmp_path).run(HERE), OutputError, code)
    assert "the disk is full" in message


def test_an_output_folder_that_is_removed_during_the_run(tmp_path: Path) -> None:
    write_records(tmp_path, 6, 1)

    class Removes(ProcessingStage[DocumentBatch, DocumentBatch]):
        def process(self, task: DocumentBatch) -> DocumentBatch:
            if task.data["id"].to_pylist() == [3] and not (tmp_path / "removed").exists():
                (tmp_path / "removed").touch()
                shutil.rmtree(tmp_path / "out")
            return task

    message = refused(lambda: pipeline(tmp_path, Removes()).run(HERE), OutputError, 1)
    assert f"{tmp_path}/out/.curator/job/" in message
    pipeline(tmp_path, Removes()).run(HERE)
    assert record_ids(tmp_path / "out") == list(range(6))
