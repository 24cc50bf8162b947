"""Serving metrics: addresses, labels, and how long the server stays."""

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
from curator_cli.commands.metrics_config import write_settings
from curator_core import LocalExecutor, Pipeline, Task, processing_stage
from curator_core.errors import PipelineError
from curator_core.model.node_usage import GpuUsage, NodeUsage
from curator_core.model.snapshot import RunSnapshot
from curator_report.metrics.collector import families
from curator_report.metrics.dashboard import queries
from curator_report.metrics.names import KINDS_OF_RESTART, OF_RUNS, OF_STAGES, kind_of_restart
from curator_report.metrics.server import (
    DEFAULT_PORT,
    Address,
    Page,
    PortTakenError,
    PrometheusMetrics,
    address_of,
)
from waitkit import eventually


@processing_stage(name="same")
def same(task: Task[int]) -> Task[int]:
    return task


@pytest.fixture
def taken() -> Iterator[int]:
    """Return a port at which another socket listens."""
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
    ("option", "address"),
    [
        (None, None),
        (False, None),
        (True, Address("127.0.0.1", DEFAULT_PORT, is_fixed=False)),
        (9000, Address("127.0.0.1", 9000, is_fixed=True)),
        ("9000", Address("127.0.0.1", 9000, is_fixed=True)),
        ("0.0.0.0:9000", Address("0.0.0.0", 9000, is_fixed=True)),
    ],
)
def test_where_metrics_are_served(option: Any, address: Address | None) -> None:
    assert address_of(option) == address


@pytest.mark.parametrize("option", ["yes", "host:", 70000, "a:b", 0.5])
def test_an_invalid_address_is_refused(option: Any) -> None:
    with pytest.raises(PipelineError, match=r"must be true, a port \(9464\), or HOST:PORT"):
        address_of(option)


def test_a_taken_port_is_refused(taken: int) -> None:
    message = rf"port {taken} of 127\.0\.0\.1 is taken; name another one .*--metrics PORT"
    with pytest.raises(PortTakenError, match=message):
        Pipeline("p", stages=[same]).run(
            LocalExecutor(workers=0), [Task(1)], observers=[PrometheusMetrics(taken)]
        )


def test_a_taken_port_leaves_an_earlier_run_untouched(taken: int, tmp_path: Path) -> None:
    """The port is checked before the earlier run is replaced."""
    pipeline = Pipeline("p", stages=[same])
    run_dir = str(tmp_path / "run")
    pipeline.run(LocalExecutor(workers=0), [Task(1)], run_dir)
    with pytest.raises(PortTakenError):
        pipeline.run(
            LocalExecutor(workers=0),
            [Task(1)],
            run_dir,
            resume=False,
            observers=[PrometheusMetrics(taken)],
        )
    assert pipeline.run(LocalExecutor(workers=0), [Task(1)], run_dir).sources_skipped == 1


def test_the_default_port_moves_to_the_next_free_one(taken: int) -> None:
    address = Page().serve(Address("127.0.0.1", taken, is_fixed=False))
    assert taken < address.port <= taken + 16
    assert "curator_workers" in read(address.port)


def test_the_last_figures_stay_and_are_written_down(tmp_path: Path) -> None:
    port = free_port()
    for name in ("first", "second"):
        pipeline = Pipeline(name, stages=[same])
        run_dir = str(tmp_path / name)
        pipeline.run(
            LocalExecutor(workers=0),
            [Task(1), Task(2)],
            run_dir,
            observers=[PrometheusMetrics(port)],
        )
    text = read(port)
    for name in ("first", "second"):
        line = f'curator_tasks_total{{run="{name}",stage="same",status="ok"}} 2.0'
        assert line in text
        assert line in (tmp_path / name / "metrics.prom").read_text()


def test_concurrent_runs_with_one_name_have_different_labels() -> None:
    port = free_port()
    pipeline = Pipeline("twin", stages=[same])
    one = pipeline.stream(LocalExecutor(workers=0), [Task(1)], observers=[PrometheusMetrics(port)])
    other = pipeline.stream(
        LocalExecutor(workers=0), [Task(1)], observers=[PrometheusMetrics(port)]
    )
    next(one)
    next(other)
    assert eventually(lambda: 'curator_run_active{run="twin"} 1.0' in read(port))
    assert eventually(lambda: 'curator_run_active{run="twin-2"} 1.0' in read(port))
    one.close()
    other.close()


def test_no_path_is_a_label(tmp_path: Path) -> None:
    reason = f"could not open {tmp_path}/model (signal 9)"
    snapshot = RunSnapshot(
        0.0, "p", "Local", "running", 1.0, 0, 0, 0, 0, None, (), restarts={reason: 2}
    )
    labels = {
        value
        for family in families({"p": snapshot})
        for sample in family.samples
        for value in sample.labels.values()
    }
    assert "killed" in labels
    assert not any("/" in value for value in labels)


def test_figures_of_nodes_have_their_names_as_labels() -> None:
    nodes = {"one": NodeUsage(3, 16, (GpuUsage(7, 8, 0.5), GpuUsage(1, 8)))}
    snapshot = RunSnapshot(0.0, "p", "Local", "running", 1.0, 0, 0, 0, 0, None, (), nodes=nodes)
    found = {
        (sample.name, *sample.labels.values()): sample.value
        for family in families({"p": snapshot})
        for sample in family.samples
        if "node" in sample.labels
    }
    assert found == {
        ("curator_node_memory_bytes", "p", "one", "used"): 3,
        ("curator_node_memory_bytes", "p", "one", "limit"): 16,
        ("curator_gpu_memory_bytes", "p", "one", "0", "used"): 7,
        ("curator_gpu_memory_bytes", "p", "one", "0", "limit"): 8,
        ("curator_gpu_memory_bytes", "p", "one", "1", "used"): 1,
        ("curator_gpu_memory_bytes", "p", "one", "1", "limit"): 8,
        ("curator_gpu_utilization_ratio", "p", "one", "0"): 0.5,
    }


def test_every_restart_has_a_kind() -> None:
    expected = {
        "took longer than its timeout_s of 3 s": "timeout",
        "ran out of memory": "memory",
        "was recycled": "recycled",
        "was on a node that was lost": "node",
        "was killed (SIGKILL)": "killed",
        "died without an error message, probably by SIGKILL": "killed",
        "ended by itself": "died",
    }
    assert {reason: kind_of_restart(reason) for reason in expected} == expected
    assert set(expected.values()) == set(KINDS_OF_RESTART)


JOB = """
import sys
from curator_core import LocalExecutor, Pipeline, Task, processing_stage
from curator_report import PrometheusMetrics

@processing_stage(name="same")
def same(task: Task[int]) -> Task[int]:
    return task

with Pipeline("job", stages=[same]).stream(
    LocalExecutor(workers=0), [Task(n) for n in range(3)],
    observers=[PrometheusMetrics(int(sys.argv[1]))],
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


def test_a_process_waits_for_its_last_scrape() -> None:
    port = free_port()
    with job(port) as process:
        assert process.stdout
        assert process.stdin
        assert process.stdout.readline() == "0\n"
        for _ in range(2):
            assert eventually(lambda: 'curator_run_active{run="job"} 1.0' in read(port))
            time.sleep(0.3)
        print(file=process.stdin, flush=True)
        assert process.stdout.readline() == "over\n"
        text = read(port)
        assert process.wait(30) == 0
    assert 'curator_run_active{run="job"} 0.0' in text
    assert 'curator_tasks_total{run="job",stage="same",status="ok"} 3.0' in text


def test_a_process_without_scrapes_ends_at_once() -> None:
    with job(free_port()) as process:
        assert process.stdout
        assert process.stdin
        process.stdout.readline()
        print(file=process.stdin, flush=True)
        assert process.stdout.readline() == "over\n"
        assert process.wait(60) == 0


def test_without_metrics_nothing_of_them_is_imported() -> None:
    from curator_core.testing import modules_loaded_by

    loaded = modules_loaded_by("import curator_core.run.session, curator_core.pipeline")
    unwanted = ("curator_report.metrics", "prometheus_client")
    assert not {name for name in loaded if name.startswith(unwanted)}


def test_every_metric_has_a_place_on_the_dashboard() -> None:
    asked = "".join(queries())
    missing = {metric.name for metric in (*OF_RUNS, *OF_STAGES)
               if not re.search(rf"curator_{metric.name}(_total)?\b", asked)}  # fmt: skip
    assert missing == set()


def test_invalid_targets_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match="--target here: must be HOST:PORT"):
        write_settings(str(tmp_path), ["here"])
    (tmp_path / "file").write_text("")
    with pytest.raises(PipelineError, match=r"cannot write into .*file: "):
        write_settings(str(tmp_path / "file"))
