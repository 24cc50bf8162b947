"""What docs/clusters.md shows: on three nodes of Ray, and with stand-ins for other programs."""

import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from secrets import token_hex
from typing import Any

import click
import pytest
import yaml
from curator_cli.commands.run import run as run_command
from waitkit import eventually

REPOSITORY = Path(__file__).parents[2]
EXAMPLES = REPOSITORY / "examples" / "clusters"
PAGE = (REPOSITORY / "docs" / "clusters.md").read_text()
SHELL = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.M | re.S)
SLURM = (EXAMPLES / "slurm.sh").read_text()
RAYJOB = yaml.safe_load((EXAMPLES / "rayjob.yaml").read_text())
RECIPE = EXAMPLES / "pages.yaml"

NOTES = 'echo "$(basename "$0") RAY_ADDRESS=$RAY_ADDRESS $*" >> "$DESK/said"\n'
STAND_INS = {
    "scontrol": 'printf "node1\\nnode2\\nnode3\\n"\n',
    # It stays with `ray start --block`. The head answers only after a while, or fails.
    "srun": NOTES + '[ -e "$DESK/fails" ] && exit 1\n'
    '[[ "$*" == *--head* ]] && touch "$DESK/head"\n'
    '[[ "$*" == *--block* ]] && exec /bin/sleep 60\nexit 0\n',
    "sleep": NOTES + 'touch "$DESK/slept"\n',
    "ray": NOTES + 'if [ "$1" = status ]; then [ -e "$DESK/slept" ] && [ -e "$DESK/head" ]; fi\n',
    "pip": NOTES,
    "kubectl": NOTES,
    "curate": NOTES + "trap 'echo stopped in order >> \"$DESK/said\"; exit 143' TERM\n"
    "while [ -e \"$DESK/at_work\" ]; do /bin/sleep 0.02; done\n",
}  # fmt: skip


# Stand-ins for the programs of other machines


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """A folder whose `bin` has the stand-ins; `said` has the commands that were given to them."""
    (tmp_path / "bin").mkdir()
    for name, text in STAND_INS.items():
        program = tmp_path / "bin" / name
        program.write_text(f"#!/bin/bash\n{text}")
        program.chmod(0o755)
    (tmp_path / "bin" / "activate").write_text("export ACTIVATED=1\n")
    return tmp_path


@contextmanager
def running(script: str, desk: Path) -> Iterator["subprocess.Popen[bytes]"]:
    environment = {
        "PATH": f"{desk}/bin:/usr/bin:/bin",
        "DESK": str(desk),
        "FIRST": "node1",
        "SLURM_JOB_NODELIST": "node[1-3]",
        "SLURM_NNODES": "3",
    }
    script = script.replace("/shared/environment/bin/", f"{desk}/bin/")
    process = subprocess.Popen(
        ["bash", "-c", script], env=environment, cwd=desk, start_new_session=True
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):  # all of them have ended
            os.killpg(process.pid, signal.SIGKILL)


def said(desk: Path) -> list[str]:
    file = desk / "said"
    return file.read_text().splitlines() if file.exists() else []


class TestSlurmScript:
    def test_it_starts_ray_everywhere_and_stops_in_order(self, desk: Path) -> None:
        (desk / "at_work").touch()
        with running(SLURM, desk) as process:
            assert eventually(lambda: any(line.startswith("curate ") for line in said(desk)))
            assert eventually(lambda: sum(line.startswith("srun") for line in said(desk)) == 2)
            process.send_signal(signal.SIGTERM)
            process.wait(30)
        assert sorted(line for line in said(desk) if line.startswith("srun")) == [
            "srun RAY_ADDRESS=node1:6379 --nodes=1 --ntasks=1 -w node1 "
            "ray start --head --port=6379 --block",
            "srun RAY_ADDRESS=node1:6379 --nodes=2 --ntasks=2 -x node1 "
            "ray start --address=node1:6379 --block",
        ]
        assert "curate RAY_ADDRESS=node1:6379 run recipe.yaml --executor streaming" in said(desk)
        assert said(desk)[-1] == "stopped in order"

    def test_workers_and_run_start_when_the_head_answers(self, desk: Path) -> None:
        with running(SLURM, desk) as process:
            assert process.wait(30) == 0  # and the script ends with its run
        asked = [n for n, line in enumerate(said(desk)) if line.startswith("ray ")]
        later = [n for n, line in enumerate(said(desk)) if "-x node1" in line or "curate" in line]
        assert len(asked) >= 2  # the first question was not answered
        assert max(asked) < min(later)

    def test_it_ends_if_the_head_cannot_start(self, desk: Path) -> None:
        (desk / "fails").touch()
        with running(SLURM, desk) as process:
            assert process.wait(30) == 1
        assert not any(line.startswith("curate") for line in said(desk))


def test_other_shell_blocks_are_valid(desk: Path) -> None:
    for block in SHELL:
        if "--8<--" not in block:
            with running(block, desk) as process:
                assert process.wait(30) == 0
    programs = {line.split()[0] for line in said(desk)}
    assert programs == {"pip", "ray", "curate", "srun", "kubectl"}


# What Ray and KubeRay know


def options_of(command: click.Command) -> set[str]:
    return {name for one in command.params for name in (*one.opts, *one.secondary_opts)}


def shown_options(command: str) -> set[str]:
    """Options that the page and the scripts give to a command of Ray, up to `--` or its end."""
    found = re.findall(rf"{command} ((?:[^`\n&]|\\\n)+)", PAGE + SLURM)
    words = [word.partition("=")[0] for text in found for word in text.partition(" -- ")[0].split()]
    return {word for word in words if word.startswith("--") and word != "--"}


def test_ray_knows_the_options_that_are_shown() -> None:
    scripts = pytest.importorskip("ray.scripts.scripts")
    jobs = import_module("ray.dashboard.modules.job.cli")
    symmetric = import_module("ray.scripts.symmetric_run")
    known = {
        "ray start": options_of(scripts.start),
        "ray job submit": options_of(jobs.submit),
        "ray job logs": options_of(jobs.logs),
        "ray symmetric-run": options_of(symmetric.symmetric_run),
    }
    for command, options in known.items():
        assert shown_options(command), command
        assert shown_options(command) <= options, command
    for group in groups():
        given = {f"--{name}" for name in group["rayStartParams"]}
        assert given <= known["ray start"]


def groups() -> list[dict[str, Any]]:
    spec = RAYJOB["spec"]["rayClusterSpec"]
    return [spec["headGroupSpec"], *spec["workerGroupSpecs"]]


class TestRayJob:
    def test_its_entrypoint_is_a_command_of_curate(self) -> None:
        assert (RAYJOB["apiVersion"], RAYJOB["kind"]) == ("ray.io/v1", "RayJob")
        program, command, *words = shlex.split(RAYJOB["spec"]["entrypoint"])
        assert (program, command) == ("curate", "run")
        context = run_command.make_context("run", words)
        assert context.params["recipe"] == "/recipes/pages.yaml"

    def test_volumes_are_mounted_where_the_recipe_looks(self) -> None:
        recipe = yaml.safe_load(RECIPE.read_text())
        folders = {
            Path(recipe["input"]["file_paths"]).parts[1],
            Path(recipe["output"]["path"]).parts[1],
        }
        assert folders == {"data"}
        for group in groups():
            pod = group["template"]["spec"]
            [container] = pod["containers"]
            mounts = {one["mountPath"]: one["name"] for one in container["volumeMounts"]}
            volumes = {one["name"]: one for one in pod["volumes"]}
            assert set(mounts.values()) == set(volumes)
            assert volumes[mounts["/data"]]["persistentVolumeClaim"]["claimName"] == "data"
        head = groups()[0]["template"]["spec"]
        assert {"name": "recipes", "configMap": {"name": "recipes"}} in head["volumes"]
        assert f"configmap recipes --from-file={RECIPE.relative_to(REPOSITORY)}" in PAGE

    def test_nodes_fit_each_other(self) -> None:
        spec = RAYJOB["spec"]["rayClusterSpec"]
        images = {c["image"] for g in groups() for c in g["template"]["spec"]["containers"]}
        assert len(images) == 1  # the same packages everywhere
        assert f"rayproject/ray:{spec['rayVersion']}-" in PAGE
        assert spec["enableInTreeAutoscaling"] is True
        for group in spec["workerGroupSpecs"]:
            assert 0 <= group["minReplicas"] <= group["replicas"] <= group["maxReplicas"]
        assert len({group["groupName"] for group in spec["workerGroupSpecs"]}) == 2

    def test_requests_do_not_exceed_limits(self) -> None:
        for group in groups():
            [container] = group["template"]["spec"]["containers"]
            requests, limits = (container["resources"][kind] for kind in ("requests", "limits"))
            assert requests.keys() == limits.keys()
            for name, amount in requests.items():
                assert amount_of(amount) <= amount_of(limits[name]), name
        devices = [g["template"]["spec"]["containers"][0]["resources"]["limits"] for g in groups()]
        assert [int(one.get("nvidia.com/gpu", 0)) for one in devices] == [0, 0, 8]


def amount_of(text: str) -> float:
    found = re.fullmatch(r"(\d+)(m|Gi)?", text)
    assert found, text
    return int(found[1]) * {"m": 0.001, "Gi": 2**30, None: 1}[found[2]]


# Three nodes of Ray on this machine


LIMIT_S = 240.0
"""Starting Ray and its jobs takes seconds, and far longer on a busy machine."""

TEXT = " ".join(f"word{number}" for number in range(60))
SLOW = """
import sys
import time
from pathlib import Path

from curator_core import DocumentBatch, JsonlReader, JsonlWriter, Pipeline, processing_stage
from curator_streaming import StreamingExecutor

import limits


@processing_stage(name="wait_for_file")
def wait_for_file(task: DocumentBatch) -> DocumentBatch:
    number = task.data["number"][0].as_py()
    while number >= limits.UNHELD and not held.exists():
        time.sleep(0.02)
    return task


held = Path(sys.argv[3])
stages = [JsonlReader(sys.argv[1], files_per_partition=1), wait_for_file, JsonlWriter(sys.argv[2])]
result = Pipeline("slow", stages=stages).run(StreamingExecutor())
print("skipped", result.sources_skipped, "done", result.sources_done)
"""


def has_job_server() -> bool:
    """Return whether ray[default] is installed; without it, commands are run without a job."""
    try:
        import_module("ray.dashboard.optional_deps")
    except ImportError:
        return False
    return True


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class RayCluster:
    """Nodes started by `ray start`. Their processes carry a mark, by which they are ended."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._mark = token_hex(8)
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("RAY_")}
        self._environment = inherited | {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "CURATOR_TEST": self._mark,
            "HOME": str(folder),
        }
        self._environment.pop("CURATOR_EXECUTOR", None)
        self.has_jobs = has_job_server()
        self._job_port = free_port()
        self.address = ""

    def start_head(self) -> None:
        output = self._start_node(
            "--head", "--num-cpus=0", "--port=0", f"--ray-client-server-port={free_port()}",
            f"--include-dashboard={str(self.has_jobs).lower()}",
            f"--dashboard-port={self._job_port}", f"--temp-dir={self._folder}",
        )  # fmt: skip
        found = re.search(r"ray start --address='(.+)'", output)
        assert found is not None, output
        self.address = found[1]

    def start_worker(self) -> None:
        self._start_node("--num-cpus=1", f"--address={self.address}")

    def _start_node(self, *options: str) -> str:
        # Not `--block`: it ends a node if Ray's client server, which is not used, starts too late.
        command = [
            "ray", "start", *options, "--object-store-memory=150000000",
            "--dashboard-agent-listen-port=0", "--min-worker-port=0", "--max-worker-port=0",
            "--disable-usage-stats",
        ]  # fmt: skip
        code, output = finish(self._popen(command))
        assert code == 0, output
        return output

    def submit(self, entrypoint: str, working_dir: Path) -> "subprocess.Popen[bytes]":
        """Start a command as `ray job submit` does, or else with what that gives to it."""
        if self.has_jobs:
            command = shlex.split(entrypoint)
            server = f"http://127.0.0.1:{self._job_port}"
            options = ["--address", server, "--working-dir", str(working_dir)]
            return self._popen(["ray", "job", "submit", *options, "--", *command])
        return self.drive(entrypoint, working_dir)

    def drive(self, command: str, folder: Path) -> "subprocess.Popen[bytes]":
        return self._popen(shlex.split(command), cwd=folder, RAY_ADDRESS=self.address)

    def _popen(
        self, command: list[str], cwd: Path | None = None, **env: str
    ) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            command, env=self._environment | env, cwd=cwd or self._folder,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip

    def processes(self, script: str = "") -> list[Any]:
        """Return all that are alive, or only those that run this script."""
        import psutil

        found = []
        for process in psutil.process_iter():
            try:
                is_ours = process.environ().get("CURATOR_TEST") == self._mark
                is_ours = is_ours and process.status() != psutil.STATUS_ZOMBIE
                if is_ours and (not script or process.cmdline()[1:2] == [script]):
                    found.append(process)
            except psutil.Error:
                continue
        return found

    def end(self) -> None:
        while left := self.processes():
            for process in left:
                process.kill()
            time.sleep(0.02)


@contextmanager
def three_nodes() -> Iterator[RayCluster]:
    pytest.importorskip("ray")
    pytest.importorskip("psutil")
    # Paths of Ray's sockets must be short.
    with tempfile.TemporaryDirectory(prefix="ct-", ignore_cleanup_errors=True) as folder:
        cluster = RayCluster(Path(folder))
        try:
            cluster.start_head()
            cluster.start_worker()
            cluster.start_worker()
            yield cluster
        finally:
            cluster.end()


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayCluster]:
    for package in ("curator_streaming", "curator_text"):
        if not find_spec(package):
            pytest.skip(f"needs {package}")
    with three_nodes() as started:
        yield started


def write_pages(folder: Path) -> None:
    (folder / "raw").mkdir(parents=True)
    for number in range(6):
        row = {"text": f"{TEXT} {number}", "number": number}
        (folder / "raw" / f"{number}.jsonl").write_text(json.dumps(row) + "\n")


def numbers(folder: Path) -> list[int]:
    files = [file for file in folder.glob("*.jsonl*") if file.name[0] != "."]
    return sorted(json.loads(line)["number"] for f in files for line in f.read_text().splitlines())


def finish(process: "subprocess.Popen[bytes]") -> tuple[int, str]:
    output, _ = process.communicate(timeout=LIMIT_S)
    return process.returncode, output.decode(errors="replace")


class SlowScript:
    """A script that stops after three of six sources, until it is released."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "code"
        self._clean, self._released = folder / "clean", folder / "released"
        self.command = f"python slow.py {folder}/raw {self._clean} {self._released}"
        write_pages(folder)
        self.folder.mkdir()
        (self.folder / "slow.py").write_text(SLOW)
        (self.folder / "limits.py").write_text("UNHELD = 3\n")  # workers import it, too

    def written(self) -> list[int]:
        return numbers(self._clean)

    def check_resumed_on(self, cluster: RayCluster) -> None:
        done = len(self.written())
        assert 1 <= done <= 3
        self._released.touch()
        code, output = finish(cluster.submit(self.command, self.folder))
        assert code == 0, output
        assert f"skipped {done} done {6 - done}" in output
        assert self.written() == list(range(6))


class TestJobs:
    def test_the_entrypoint_of_the_rayjob(self, cluster: RayCluster, tmp_path: Path) -> None:
        write_pages(tmp_path / "data")
        (tmp_path / "recipes").mkdir()
        recipe = tmp_path / "recipes" / RECIPE.name
        recipe.write_text(RECIPE.read_text().replace("/data/", f"{tmp_path}/data/"))
        entrypoint = RAYJOB["spec"]["entrypoint"].replace("/recipes/", f"{tmp_path}/recipes/")
        clean = tmp_path / "data" / "clean"

        code, output = finish(cluster.submit(entrypoint, tmp_path / "recipes"))

        assert code == 0, output
        assert numbers(clean) == list(range(6))
        events = (clean / ".curator" / "pages" / "events.jsonl").read_text().splitlines()
        [how] = [one for one in map(json.loads, events) if one["event"] == "connected"]
        assert (how["how"], how["address"]) == ("joined", cluster.address)

        before = {file: file.stat().st_mtime_ns for file in clean.glob("*.jsonl*")}
        code, output = finish(cluster.submit(entrypoint, tmp_path / "recipes"))
        assert code == 0, output
        assert {file: file.stat().st_mtime_ns for file in clean.glob("*.jsonl*")} == before

    def test_a_script(self, cluster: RayCluster, tmp_path: Path) -> None:
        write_pages(tmp_path)
        shutil.copytree(EXAMPLES, tmp_path / "code")
        [command] = re.findall(r"-- (python pages\.py .*)\n", PAGE)
        command = command.replace("/data/", f"{tmp_path}/")

        code, output = finish(cluster.submit(command, tmp_path / "code"))

        assert code == 0, output
        assert numbers(tmp_path / "clean") == list(range(6))

    def test_a_command_that_fails(self, cluster: RayCluster, tmp_path: Path) -> None:
        code, output = finish(cluster.submit("curate run missing.yaml", tmp_path))
        assert code == (1 if cluster.has_jobs else 2)
        assert "missing.yaml" in output
        if cluster.has_jobs:
            assert "exit code 2" in output

    @pytest.mark.soak
    def test_a_killed_driver_is_resumed(self, cluster: RayCluster, tmp_path: Path) -> None:
        slow = SlowScript(tmp_path)
        first = cluster.submit(slow.command, slow.folder)
        assert eventually(lambda: bool(slow.written()) or first.poll() is not None, LIMIT_S)
        [driver] = cluster.processes(script="slow.py")
        driver.kill()
        code, output = finish(first)
        assert code != 0, output
        slow.check_resumed_on(cluster)


@pytest.mark.soak
def test_a_lost_head_is_resumed_on_another_cluster(tmp_path: Path) -> None:
    """The driver outlives the head by the minute for which Ray tries to reach it."""
    slow = SlowScript(tmp_path)
    with three_nodes() as lost:
        first = lost.drive(slow.command, slow.folder)
        assert eventually(lambda: bool(slow.written()) or first.poll() is not None, LIMIT_S)
        [head] = [process for process in lost.processes() if process.name() == "gcs_server"]
        head.kill()
        code, output = finish(first)
        assert code != 0, output
    with three_nodes() as other:
        slow.check_resumed_on(other)
