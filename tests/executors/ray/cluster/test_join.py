"""Clusters of others: used as they are, and never ended."""

import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from curator_ray.cluster.connection import connected
from curator_ray.cluster.join import authenticated_client, describe_join_error, join
from curator_ray.errors import ClusterError

DRIVER = """
import json, os
from curator_ray.cluster.connection import connected
from curator_ray.cluster.private import PrivateCluster
from curator_ray.cluster.survey import Survey
for address in (None, "local", os.environ["RAY_ADDRESS"]):
    with connected(address, PrivateCluster(cpus=1)) as connection:
        facts = Survey(connection).facts
        print(json.dumps([connection.kind, connection.address, facts.cpus]))
"""

STARTS_A_WORKER = """
from curator_ray.cluster.connection import connected
class Greets:
    def greet(self):
        return "hello"
with connected() as connection:
    import ray
    print(connection.kind, ray.get(ray.remote(Greets).remote().greet.remote(), timeout=90))
"""


REFUSED = """
from curator_ray.cluster.connection import connected
from curator_ray.errors import ClusterError
try:
    with connected():
        print("joined")
except ClusterError as error:
    print(error)
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture(params=["open", "with a token in the home directory"])
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """`ray start` asks for a token where an earlier Ray has left one, and only there."""
    if request.param != "open":
        (tmp_path / ".ray").mkdir()
        (tmp_path / ".ray" / "auth_token").write_text("5a" * 32)
    return tmp_path


@pytest.fixture
def plain_cluster(home: Path, short_folder: str, marked: Any) -> Iterator[str]:
    """What `ray start --head` gives, in an environment that says nothing about Ray."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("RAY_")}
    with open(home / "ray.log", "wb") as log:
        started = subprocess.Popen(
            [Path(sys.executable).with_name("ray"), "start", "--head", "--block", "--num-cpus=3",
             # What is not 0 is fixed, or was free a moment ago: another Ray may have it by now.
             "--port=0", "--dashboard-agent-listen-port=0",
             f"--ray-client-server-port={free_port()}", "--min-worker-port=0",
             "--max-worker-port=0", "--include-dashboard=false", "--disable-usage-stats",
             f"--temp-dir={short_folder}"],
            env={**inherited, "HOME": str(home), **marked.variable("plain")},
            stdout=log, stderr=subprocess.STDOUT,
        )  # fmt: skip
    try:
        yield _address_of(started, home / "ray.log", Path(short_folder))
    finally:
        while ours := marked("plain"):
            for process in ours:
                process.kill()
            time.sleep(0.02)
        started.wait()


def _address_of(started: "subprocess.Popen[bytes]", log: Path, folder: Path) -> str:
    """Where it can be joined; if it does not come up, all that there is to read about it."""
    until = time.monotonic() + 90
    while not (found := re.search(r"ray start --address='(.+)'", log.read_text())):
        if started.poll() is not None or time.monotonic() > until:
            logs = [log, *sorted(folder.glob("session_2*/logs/*.*"))]
            told = [f"== {path.name}\n{path.read_text(errors='replace')}" for path in logs]
            code = started.poll()
            pytest.fail("\n".join([f"no cluster came up (exit code {code})", *told]))
        time.sleep(0.05)
    return found[1]


def wrong_environment(home: Path) -> dict[str, str]:
    """No token for the cluster that wants one, and one for the cluster that has none."""
    if (home / ".ray").exists():
        return {"HOME": str(home / "other")}
    return {"HOME": str(home), "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "ab" * 32}


def told_of(home: Path, address: str) -> str:
    if (home / ".ray").exists():
        return f"the cluster at {address} wants a token that this process has not: put it into ~/"
    return f"RAY_AUTH_MODE is token, but the cluster at {address} has none, and no worker there"


class TestJoining:
    def test_a_plain_cluster_is_used_beside_a_private_one_and_lives_on(
        self,
        home: Path,
        plain_cluster: str,
        script: Any,
        marked: Any,
    ) -> None:
        driver = script(DRIVER, RAY_ADDRESS=plain_cluster, HOME=str(home))
        said, complaints = driver.communicate(timeout=90)
        assert complaints == ""
        joined, private, again = map(json.loads, said.splitlines())
        assert joined == again == ["joined", plain_cluster, 3.0]
        assert (private[0], private[2]) == ("private", 1.0)
        refused = script(REFUSED, RAY_ADDRESS=plain_cluster, **wrong_environment(home))
        said, _ = refused.communicate(timeout=90)
        assert said.startswith(told_of(home, plain_cluster))
        assert any("gcs_server" in process.name() for process in marked("plain"))

    def test_nobody_at_the_address(self) -> None:
        address = f"127.0.0.1:{free_port()}"
        with pytest.raises(ClusterError) as error:
            join(address, None)
        assert f"no Ray cluster answers at {address} (ConnectionRefusedError: " in str(error.value)
        assert "check that it runs (`ray status`) and the address (RAY_ADDRESS)" in str(error.value)

    def test_auto_leads_to_a_cluster_that_has_ended(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Ray keeps its address in a file; it would be tried for a minute."""
        address = f"127.0.0.1:{free_port()}"
        place = "ray._private.services.canonicalize_bootstrap_address"
        monkeypatch.setattr(place, {"auto": address}.get)
        with pytest.raises(ClusterError, match=f"no Ray cluster answers at {address}"):
            join("auto", None)

    def test_auto_leads_nowhere(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def nothing(_: str) -> str:
            raise ConnectionError("Could not find any running Ray instance.")

        monkeypatch.setattr("ray._private.services.canonicalize_bootstrap_address", nothing)
        with pytest.raises(ClusterError, match="no Ray cluster runs on this machine, which is"):
            join("auto", None)

    @pytest.mark.parametrize("address", ["nonsense", "host:port"])
    def test_what_is_no_address(self, address: str) -> None:
        with pytest.raises(ClusterError, match="is no address of a Ray cluster; give host:port"):
            join(address, None)

    def test_nobody_at_the_address_of_a_client(self) -> None:
        address = f"ray://127.0.0.1:{free_port()}"
        with pytest.raises(ClusterError, match=f"no Ray cluster answers at {address}"):
            join(address, None)

    def test_the_port_of_ray_itself_is_none_of_its_client(self, cluster: Any) -> None:
        address = f"ray://{cluster.address}"
        with pytest.raises(ClusterError) as error, authenticated_client(address):
            pass
        assert f"what listens at {address} is no server of Ray's client" in str(error.value)
        assert f"or {cluster.address} without ray:// for that of Ray itself" in str(error.value)

    def test_what_the_client_needs_is_not_installed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "grpc", None)
        with pytest.raises(ClusterError, match=r"ray://a:1 needs grpcio.*: pip install 'ray\[cl"):
            join("ray://a:1", None)

    @pytest.mark.parametrize("has_token", [True, False])
    def test_workers_start_in_an_open_cluster_whatever_lies_in_the_home_directory(
        self, has_token: bool, cluster: Any, script: Any, tmp_path: Path
    ) -> None:
        """One of somebody else's, who has no token, while an earlier Ray has left us one."""
        (tmp_path / ".ray").mkdir()
        if has_token:
            (tmp_path / ".ray" / "auth_token").write_text("5a" * 32)
        driver = script(STARTS_A_WORKER, RAY_ADDRESS=cluster.address, HOME=str(tmp_path))

        said, complaints = driver.communicate(timeout=90)

        assert (said, complaints) == ("joined hello\n", "")


class AuthenticationError(Exception):
    pass


class TestWhatFailed:
    @pytest.mark.parametrize(
        ("error", "told"),
        [
            (RuntimeError("Version mismatch: Ray: 2.1"), "runs other versions of Python or Ray"),
            (AuthenticationError("no"), "wants a token that this process has not: put it"),
            (OSError("it snows"), "the Ray cluster at a:1 cannot be joined"),
        ],
    )
    def test_ways_out(self, error: Exception, told: str) -> None:
        assert told in describe_join_error("a:1", error)


class TestWithARayOfTheCaller:
    def test_it_is_found_and_left_as_it_is(self, cluster: Any) -> None:
        import ray

        with connected() as connection, connected(cluster.address) as again:
            assert connection.kind == "found"
            assert connection.why == "Ray was initialised already"
            assert again is connection
        assert ray.is_initialized()

    def test_another_address_is_refused(self, cluster: Any) -> None:
        with (
            pytest.raises(
                ClusterError, match=r"cannot use 10\.0\.0\.1:6379 too; call ray.shutdown"
            ),
            connected("10.0.0.1:6379"),
        ):
            pass
