"""Serving metrics: where, to whom, and for how long."""

import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from curator_core import LocalExecutor, Pipeline, Task, processing_stage
from curator_core.errors import PipelineError
from curator_core.metrics.collecting import families
from curator_core.metrics.configuring import write_settings
from curator_core.metrics.dashboards import queries
from curator_core.metrics.names import KINDS_OF_RESTART, OF_RUNS, OF_STAGES, kind_of_restart
from curator_core.metrics.serving import DEFAULT_PORT, Address, Page, PortTakenError, address_of
from curator_core.model.snapshot import Pulse


@processing_stage(name="same")
def same(task: Task[int]) -> Task[int]:
    return task


@pytest.fixture
def taken() -> Iterator[int]:
    """A port at which somebody else listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def read(port: int) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        text: str = answer.read().decode()
        return text


@pytest.mark.parametrize(
    ("wish", "address"),
    [
        (None, None),
        (False, None),
        (True, Address("127.0.0.1", DEFAULT_PORT, is_fixed=False)),
        (9000, Address("127.0.0.1", 9000, is_fixed=True)),
        ("9000", Address("127.0.0.1", 9000, is_fixed=True)),
        ("0.0.0.0:9000", Address("0.0.0.0", 9000, is_fixed=True)),
    ],
)
def test_where_metrics_are_served(wish: Any, address: Address | None) -> None:
    assert address_of(wish) == address


@pytest.mark.parametrize("wish", ["yes", "host:", 70000, "a:b", 0.5])
def test_a_wish_that_nobody_understands(wish: Any) -> None:
    with pytest.raises(PipelineError, match=r"must be true, a port \(9464\), or HOST:PORT"):
        address_of(wish)


def test_a_port_that_is_taken(taken: int) -> None:
    said = rf"port {taken} of 127\.0\.0\.1 is taken; name another one .*--metrics PORT"
    with pytest.raises(PortTakenError, match=said):
        Pipeline("p", stages=[same]).run(LocalExecutor(workers=0), [Task(1)], metrics=taken)


def test_a_port_that_is_taken_costs_no_earlier_run(taken: int, tmp_path: Path) -> None:
    """It is found out before the run is begun anew."""
    pipeline = Pipeline("p", stages=[same])
    run_dir = str(tmp_path / "run")
    pipeline.run(LocalExecutor(workers=0), [Task(1)], run_dir)
    with pytest.raises(PortTakenError):
        pipeline.run(LocalExecutor(workers=0), [Task(1)], run_dir, resume=False, metrics=taken)
    assert pipeline.run(LocalExecutor(workers=0), [Task(1)], run_dir).sources_skipped == 1


def test_the_next_free_port(taken: int) -> None:
    address = Page().serve(Address("127.0.0.1", taken, is_fixed=False))
    assert taken < address.port <= taken + 16
    assert "curator_workers" in read(address.port)


def test_the_last_figures_stay_and_are_written_down(tmp_path: Path) -> None:
    port = free_port()
    for name in ("first", "second"):
        pipeline = Pipeline(name, stages=[same])
        run_dir = str(tmp_path / name)
        pipeline.run(LocalExecutor(workers=0), [Task(1), Task(2)], run_dir, metrics=port)
    text = read(port)
    for name in ("first", "second"):
        line = f'curator_tasks_total{{run="{name}",stage="same",status="ok"}} 2.0'
        assert line in text
        assert line in (tmp_path / name / "metrics.prom").read_text()


def test_runs_of_one_name_at_once_have_labels_of_their_own() -> None:
    port = free_port()
    pipeline = Pipeline("twin", stages=[same])
    one = pipeline.stream(LocalExecutor(workers=0), [Task(1)], metrics=port)
    other = pipeline.stream(LocalExecutor(workers=0), [Task(1)], metrics=port)
    next(one)
    next(other)
    text = read(port)
    one.close()
    other.close()
    assert 'curator_run_active{run="twin"} 1.0' in text
    assert 'curator_run_active{run="twin-2"} 1.0' in text


def test_no_path_is_a_label(tmp_path: Path) -> None:
    reason = f"could not open {tmp_path}/model (signal 9)"
    pulse = Pulse(0.0, "p", "Local", "running", 1.0, 0, 0, 0, 0, None, (), restarts={reason: 2})
    labels = {
        value
        for family in families({"p": pulse})
        for sample in family.samples
        for value in sample.labels.values()
    }
    assert "killed" in labels
    assert not any("/" in value for value in labels)


def test_every_restart_has_a_kind() -> None:
    told = {
        "took longer than its timeout_s of 3 s": "timeout",
        "ran out of memory": "memory",
        "was recycled": "recycled",
        "was on a node that is gone": "node",
        "was killed (SIGKILL)": "killed",
        "died without a word, as by SIGKILL": "killed",
        "ended by itself": "died",
    }
    assert {reason: kind_of_restart(reason) for reason in told} == told
    assert set(told.values()) == set(KINDS_OF_RESTART)


JOB = """
import sys
from curator_core import LocalExecutor, Pipeline, Task, processing_stage

@processing_stage(name="same")
def same(task: Task[int]) -> Task[int]:
    return task

with Pipeline("job", stages=[same]).stream(
    LocalExecutor(workers=0), [Task(n) for n in range(3)], metrics=int(sys.argv[1])
) as stream:
    print(next(stream).data, flush=True)
    sys.stdin.readline()
    for _ in stream:
        pass
print("over", flush=True)
"""


def job(port: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", JOB, str(port)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_process_waits_for_whoever_reads_it() -> None:
    port = free_port()
    with job(port) as process:
        assert process.stdout
        assert process.stdin
        assert process.stdout.readline() == "0\n"
        for _ in range(2):
            assert 'curator_run_active{run="job"} 1.0' in read(port)
            time.sleep(0.3)
        print(file=process.stdin, flush=True)
        assert process.stdout.readline() == "over\n"
        text = read(port)
        assert process.wait(30) == 0
    assert 'curator_run_active{run="job"} 0.0' in text
    assert 'curator_tasks_total{run="job",stage="same",status="ok"} 3.0' in text


def test_a_process_that_nobody_reads_ends_at_once() -> None:
    with job(free_port()) as process:
        assert process.stdout
        assert process.stdin
        process.stdout.readline()
        print(file=process.stdin, flush=True)
        assert process.stdout.readline() == "over\n"
        assert process.wait(15) == 0


def test_who_wants_no_metrics_imports_none_of_it() -> None:
    from curator_core.testing import modules_loaded_by

    loaded = modules_loaded_by("import curator_core.run.session, curator_core.pipeline")
    unwanted = ("curator_core.metrics", "prometheus_client")
    assert not {name for name in loaded if name.startswith(unwanted)}


def test_every_metric_has_a_place_on_the_dashboard() -> None:
    asked = "".join(queries())
    missing = {metric.name for metric in (*OF_RUNS, *OF_STAGES)
               if not re.search(rf"curator_{metric.name}(_total)?\b", asked)}  # fmt: skip
    assert missing == set()


def test_settings_for_targets_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match="--target here: must be HOST:PORT"):
        write_settings(str(tmp_path), ["here"])
    (tmp_path / "file").write_text("")
    with pytest.raises(PipelineError, match=r"cannot write into .*file: "):
        write_settings(str(tmp_path / "file"))
