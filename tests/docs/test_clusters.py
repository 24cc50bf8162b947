"""What docs/clusters.md shows for other machines, with stand-ins for these machines' programs."""

import os
import re
import shlex
import signal
import subprocess
import time
from pathlib import Path

import click
import pytest
import yaml
from curator_cli.commands.run import run as run_command

PAGE = (Path(__file__).parents[2] / "docs" / "clusters.md").read_text()
SHELL = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.M | re.S)
[SLURM] = [block for block in SHELL if "SBATCH" in block]
[JOB] = re.findall(r"^```yaml title=\"rayjob.yaml\"\n(.*?)^```$", PAGE, re.M | re.S)

NOTES = 'echo "$(basename "$0") RAY_ADDRESS=$RAY_ADDRESS $*" >> "$DESK/said"\n'
STAND_INS = {
    "scontrol": 'printf "node1\\nnode2\\nnode3\\n"\n',
    "srun": NOTES + "exec /bin/sleep 60\n",  # stays, as `ray start --block` does
    "sleep": "exit 0\n",
    "ray": NOTES,
    "pip": NOTES,
    "curate": NOTES + "trap 'echo stopped in order >> \"$DESK/said\"; exit 143' TERM\n"
    "while [ -e \"$DESK/at_work\" ]; do /bin/sleep 0.02; done\n",
}  # fmt: skip


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """A folder whose `bin` has the stand-ins, and where `said` has what they were told."""
    (tmp_path / "bin").mkdir()
    for name, text in STAND_INS.items():
        program = tmp_path / "bin" / name
        program.write_text(f"#!/bin/bash\n{text}")
        program.chmod(0o755)
    (tmp_path / "bin" / "activate").write_text("export ACTIVATED=1\n")
    return tmp_path


def started(script: str, desk: Path) -> "subprocess.Popen[bytes]":
    environment = {
        "PATH": f"{desk}/bin:/usr/bin:/bin",
        "DESK": str(desk),
        "SLURM_JOB_NODELIST": "node[1-3]",
        "SLURM_NNODES": "3",
    }
    script = script.replace("/shared/environment/bin/", f"{desk}/bin/")
    return subprocess.Popen(
        ["bash", "-c", script], env=environment, cwd=desk, start_new_session=True
    )


def said(desk: Path) -> list[str]:
    file = desk / "said"
    return file.read_text().splitlines() if file.exists() else []


def wait_for(line: str, desk: Path) -> None:
    until = time.monotonic() + 30
    while not any(one.startswith(line) for one in said(desk)):
        assert time.monotonic() < until, said(desk)
        time.sleep(0.02)


def test_a_slurm_job_starts_ray_everywhere_and_stops_in_order(desk: Path) -> None:
    (desk / "at_work").touch()
    process = started(SLURM, desk)
    try:
        wait_for("curate ", desk)
        time.sleep(0.2)  # the script comes to its `trap`
        process.send_signal(signal.SIGTERM)
        process.wait(30)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
    assert sorted(line for line in said(desk) if line.startswith("srun")) == [
        "srun RAY_ADDRESS= --nodes=1 --ntasks=1 -w node1 ray start --head --port=6379 --block",
        "srun RAY_ADDRESS= --nodes=2 --ntasks=2 -x node1 ray start --address=node1:6379 --block",
    ]
    assert "curate RAY_ADDRESS=node1:6379 run recipe.yaml --executor streaming" in said(desk)
    assert said(desk)[-1] == "stopped in order"


def test_a_slurm_job_ends_with_its_run(desk: Path) -> None:
    process = started(SLURM, desk)
    try:
        assert process.wait(30) == 0
    finally:
        os.killpg(process.pid, signal.SIGKILL)


def test_the_other_commands_are_such(desk: Path) -> None:
    for block in SHELL:
        if block is not SLURM:
            assert started(block, desk).wait(30) == 0
    assert [line.split()[0] for line in said(desk)] == ["pip", "ray", "ray", "curate"]


def options_of(command: click.Command) -> set[str]:
    return {name for one in command.params for name in (*one.opts, *one.secondary_opts)}


def test_ray_knows_the_options_that_are_shown() -> None:
    scripts = pytest.importorskip("ray.scripts.scripts")
    shown = re.findall(r"ray start ([^`\n&]+)", PAGE)
    named = {word.partition("=")[0] for line in shown for word in line.split()}
    named = {word for word in named if word.startswith("--")}
    assert {"--head", "--address", "--port", "--block", "--labels"} <= named
    assert named <= options_of(scripts.start)
    spec = yaml.safe_load(JOB)["spec"]["rayClusterSpec"]
    groups = [spec["headGroupSpec"], *spec["workerGroupSpecs"]]
    given = {f"--{name}" for group in groups for name in group["rayStartParams"]}
    assert given <= options_of(scripts.start)


def test_the_job_of_kubernetes_is_one_that_curate_takes() -> None:
    job = yaml.safe_load(JOB)
    assert (job["apiVersion"], job["kind"]) == ("ray.io/v1", "RayJob")
    program, command, *words = shlex.split(job["spec"]["entrypoint"])
    assert (program, command) == ("curate", "run")
    context = run_command.make_context("run", words)
    assert (context.params["recipe"], context.params["executor"]) == (
        "/recipes/recipe.yaml",
        "streaming",
    )
    head = job["spec"]["rayClusterSpec"]["headGroupSpec"]["template"]["spec"]
    [container] = head["containers"]
    mounted = {one["mountPath"]: one["name"] for one in container["volumeMounts"]}
    assert mounted["/recipes"] in {volume["name"] for volume in head["volumes"]}
