"""Whatever is killed at any time: nothing is lost, duplicated, torn or left behind."""

import os
import random
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from jobkit import Job, record_ids, started, write_records
from runkit import hidden_leftovers, published
from waitkit import eventually


def run_to_the_end(folder: Path, *arguments: object) -> Job:
    with started(folder, *arguments) as job:
        assert job.wait() == 0, job.err
        return job


def undisturbed(folder: Path) -> dict[str, bytes]:
    """The output of an undisturbed job, which is then removed."""
    run_to_the_end(folder)
    wanted = published(folder / "out")
    shutil.rmtree(folder / "out")
    (folder / "work.begun").unlink()
    return wanted


def has_begun(job: Job, folder: Path) -> bool:
    start_task = folder / "work.begun"
    return eventually(lambda: start_task.exists() or job.process.poll() is not None)


def kill_again_and_again(folder: Path, sources: int, kills: int, work_s: float) -> None:
    """Kill the whole tree at seeded moments, and run the same command again each time."""
    write_records(folder, sources, 5)
    wanted = undisturbed(folder)
    moments = random.Random(sources)
    for _ in range(kills):
        with started(folder, "--work-s", work_s) as job:
            time.sleep(moments.uniform(0.02, 0.6))
            assert job.process.poll() is None, "done before it was killed: the job is too short"
            job.kill_all()
    job = run_to_the_end(folder, "--work-s", work_s)
    account = job.account()
    redone = (folder / "work.begun").stat().st_size - sources
    found = published(folder / "out")
    ids = record_ids(folder / "out")
    print(
        f"{kills} kills: lost {5 * sources - len(set(ids))}, doubled {len(ids) - len(set(ids))}, "
        f"torn {len(hidden_leftovers(folder / 'out'))}, work done again for {redone} sources"
    )
    assert found == wanted
    assert account["sources_done"] + account["sources_skipped"] == sources
    assert account["stages"]["jsonl_writer"]["items_in"] == 5 * sources
    assert redone >= 0


def test_a_killed_and_resumed_run_has_the_output_of_an_undisturbed_one(
    tmp_path: Path,
) -> None:
    kill_again_and_again(tmp_path, sources=40, kills=4, work_s=0.05)


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_the_kill_loop(tmp_path: Path) -> None:
    kill_again_and_again(tmp_path, sources=200, kills=50, work_s=0.1)


def kill_workers(folder: Path, sources: int, kills: int, work_s: float) -> None:
    """Kill some worker, starting or busy, each time that some work was started."""
    write_records(folder, sources, 5)
    wanted = undisturbed(folder)
    chance = random.Random(5)
    start_task = folder / "work.begun"
    with started(folder, "--work-s", work_s) as job:
        for kill in range(1, kills + 1):
            assert eventually(lambda: start_task.exists() and start_task.stat().st_size >= 6 * kill)  # noqa: B023
            victim = chance.choice(job.workers())
            victim.kill()
            assert eventually(lambda: victim.pid not in {p.pid for p in job.workers()})  # noqa: B023
        assert job.wait() == 0, job.err
    account = job.account()
    assert account["reasons"] == []
    assert published(folder / "out") == wanted
    assert account["worker_restarts"] == {"was killed by SIGKILL": kills}


def test_killed_workers_only_cost_time(tmp_path: Path) -> None:
    kill_workers(tmp_path, sources=60, kills=4, work_s=0.03)


@pytest.mark.soak
def test_workers_are_killed_again_and_again(tmp_path: Path) -> None:
    kill_workers(tmp_path, sources=400, kills=50, work_s=0.05)


def test_only_the_poison_task_among_five_hundred_is_quarantined(tmp_path: Path) -> None:
    write_records(tmp_path, 500, 1, poison=(234,))
    account = run_to_the_end(tmp_path, "--nasty", "poison").account()
    assert account["reasons"] == ["its worker was killed by SIGKILL"]
    assert account["worker_restarts"] == {"was killed by SIGKILL": 4}
    assert record_ids(tmp_path / "out") == [n for n in range(500) if n != 234]


def test_a_worker_that_runs_out_of_memory_only_fails_its_task(tmp_path: Path) -> None:
    write_records(tmp_path, 20, 1, poison=(7,))
    account = run_to_the_end(tmp_path, "--nasty", "greedy").account()
    [reason] = account["reasons"]
    assert reason.startswith("MemoryError (")
    assert account["worker_restarts"] == {}
    assert record_ids(tmp_path / "out") == [n for n in range(20) if n != 7]


@pytest.fixture
def small_memory(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A group of processes that may use 300 MB in total."""
    top = Path("/sys/fs/cgroup")
    old = top / "memory"
    group = (old if old.is_dir() else top) / f"curator-test-{os.getpid()}"
    try:
        group.mkdir()
        limit = group / ("memory.limit_in_bytes" if old.is_dir() else "memory.max")
        limit.write_text(str(300 << 20))
    except OSError:
        pytest.skip("limiting memory takes the right to make a control group")
    monkeypatch.setenv("JOB_CGROUP", str(group))
    yield
    assert eventually(lambda: not (group / "cgroup.procs").read_text())
    group.rmdir()


@pytest.mark.usefixtures("small_memory")
def test_a_worker_killed_for_its_memory_is_distinguished(tmp_path: Path) -> None:
    write_records(tmp_path, 20, 1, poison=(7,))
    account = run_to_the_end(tmp_path, "--nasty", "hungry").account()
    assert account["reasons"] == ["its worker ran out of memory"]
    assert account["worker_restarts"] == {"ran out of memory": 2}
    assert record_ids(tmp_path / "out") == [n for n in range(20) if n != 7]


def test_a_task_that_hangs_in_c_is_quarantined_and_the_run_continues(tmp_path: Path) -> None:
    write_records(tmp_path, 1, 1)
    job = run_to_the_end(tmp_path, "--nasty", "stubborn", "--timeout-s", 0.5)
    account = job.account()
    assert account["reasons"] == ["its worker took longer than its timeout_s of 0.5 s"]
    assert account["worker_restarts"] == {"took longer than its timeout_s of 0.5 s": 2}


def test_a_zombie_publishes_nothing(tmp_path: Path) -> None:
    """A worker whose run is over wakes up again and continues its task."""
    write_records(tmp_path, 6, 5, poison=(7,))
    with started(tmp_path, "--nasty", "sleeper") as job:
        held = tmp_path / "held"
        assert eventually(lambda: held.exists() and held.read_text() != "")
        zombie = psutil.Process(int(held.read_text()))
        zombie.suspend()
        others = [process for process in job.processes() if process.pid != zombie.pid]
        for process in others:  # all at once: the watchdog would end the zombie and its siblings
            process.suspend()
        for process in others:
            process.kill()
        run_to_the_end(tmp_path, "--nasty", "sleeper")
        before = published(tmp_path / "out")
        zombie.resume()
        assert job.ends_within(20.0)
    assert published(tmp_path / "out") == before
    assert record_ids(tmp_path / "out") == list(range(30))
    again = run_to_the_end(tmp_path, "--nasty", "sleeper").account()
    assert (again["sources_done"], again["sources_skipped"]) == (0, 6)
    assert hidden_leftovers(tmp_path / "out") == []


def interrupt(folder: Path, times: int, work_s: float) -> None:
    write_records(folder, 8 * times, 5)
    wanted = undisturbed(folder)
    moments = random.Random(times)
    for turn in range(times):
        number, code = [(signal.SIGINT, 130), (signal.SIGTERM, 143)][turn % 2]
        (folder / "work.begun").unlink(missing_ok=True)
        with started(folder, "--work-s", work_s) as job:
            assert has_begun(job, folder)
            time.sleep(moments.uniform(0.0, 0.1))
            job.signal(number)
            assert job.wait(60) == code, job.err
            assert f"stopped by {number.name}" in job.err
            assert "run the same command again to resume" in job.err
            assert job.ends_within(20.0)
        assert hidden_leftovers(folder / "out") == []
    run_to_the_end(folder, "--work-s", work_s)
    assert published(folder / "out") == wanted


def test_ctrl_c_and_sigterm_stop_in_order_and_leave_no_process(tmp_path: Path) -> None:
    interrupt(tmp_path, times=2, work_s=0.1)


@pytest.mark.soak
def test_ctrl_c_and_sigterm_twenty_times(tmp_path: Path) -> None:
    interrupt(tmp_path, times=20, work_s=0.25)


def test_a_second_ctrl_c_does_not_wait(tmp_path: Path) -> None:
    write_records(tmp_path, 4, 1)
    with started(tmp_path, "--nasty", "stubborn") as job:
        assert eventually((tmp_path / "stuck").exists)
        job.signal(signal.SIGINT)
        time.sleep(0.3)
        job.signal(signal.SIGINT)
        time.sleep(0.3)
        job.signal(signal.SIGINT)
        assert job.wait(60) == 130, job.err
        assert job.ends_within(20.0)


@pytest.mark.parametrize("nasty", ["stubborn", "parent"])
def test_no_process_outlives_a_parent_that_is_killed(nasty: str, tmp_path: Path) -> None:
    write_records(tmp_path, 4, 1)
    with started(tmp_path, "--nasty", nasty, "--work-s", 5) as job:
        assert has_begun(job, tmp_path)
        assert eventually(lambda: len(job.processes()) > 3)
        job.process.kill()
        assert job.ends_within(20.0), job.processes()


def test_processes_started_by_a_stage_end_with_the_run(tmp_path: Path) -> None:
    write_records(tmp_path, 4, 1)
    with started(tmp_path, "--nasty", "parent") as job:
        assert job.wait() == 0, job.err
        assert job.ends_within(20.0), job.processes()


def test_a_teardown_that_hangs_is_ended(tmp_path: Path) -> None:
    write_records(tmp_path, 4, 1)
    with started(tmp_path, "--nasty", "lingering") as job:
        assert job.wait() == 0, job.err  # its teardown takes ten minutes
        assert job.ends_within(20.0)
    assert record_ids(tmp_path / "out") == list(range(4))


def test_a_finished_job_does_nothing_in_under_a_second(tmp_path: Path) -> None:
    write_records(tmp_path, 200, 1)
    run_to_the_end(tmp_path)
    before = published(tmp_path / "out")
    (tmp_path / "work.begun").unlink()
    with started(tmp_path) as job:
        start_task = time.monotonic()
        assert job.wait() == 0
        seconds = time.monotonic() - start_task
    assert not (tmp_path / "work.begun").exists()
    assert published(tmp_path / "out") == before
    assert job.account()["sources_skipped"] == 200
    assert seconds < 1.0 or os.getloadavg()[0] > 3
