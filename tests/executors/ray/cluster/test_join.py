"""Clusters that others started are joined, and never ended."""

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
from curator_ray.compat import RESOLVE_AUTO
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
    """The home directory of a cluster, with or without a token."""
    if request.param != "open":
        (tmp_path / ".ray").mkdir()
        (tmp_path / ".ray" / "auth_token").write_text("5a" * 32)
    return tmp_path


@pytest.fixture
def plain_cluster(home: Path, short_folder: str, marked: Any) -> Iterator[str]:
    """A cluster of `ray start --head`, in an environment without variables of Ray."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("RAY_")}
    if (home / ".ray").exists():
        inherited["RAY_AUTH_MODE"] = "token"  # which only newer versions take from the token
    with open(home / "ray.log", "wb") as log:
        started = subprocess.Popen(
            [Path(sys.executable).with_name("ray"), "start", "--head", "--block", "--num-cpus=3",
             # Ports other than 0 may be taken by another Ray at any time.
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
    """Return its address. If it does not come up, fail with all of its logs."""
    until = time.monotonic() + 90
    while not (found := re.search(r"ray start --address='(.+)'", log.read_text())):
        if started.poll() is not None or time.monotonic() > until:
            logs = [log, *sorted(folder.glob("session_2*/logs/*.*"))]
            texts = [f"== {path.name}\n{path.read_text(errors='replace')}" for path in logs]
            code = started.poll()
            pytest.fail("\n".join([f"no cluster came up (exit code {code})", *texts]))
        time.sleep(0.05)
    return found[1]


def wrong_environment(home: Path) -> dict[str, str]:
    """Return variables without the token that is wanted, or with one that is not."""
    if (home / ".ray").exists():
        return {"HOME": str(home / "other")}
    return {"HOME": str(home), "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "ab" * 32}


def expected_error(home: Path, address: str) -> str:
    if (home / ".ray").exists():
        return f"the cluster at {address} wants a token, and this process has none: put it into ~/"
    return f"RAY_AUTH_MODE is token, but the cluster at {address} has none, and no worker there"


class TestJoin:
    def test_it_is_used_beside_a_private_one_and_lives_on(
        self,
        home: Path,
        plain_cluster: str,
        script: Any,
        marked: Any,
    ) -> None:
        driver = script(DRIVER, RAY_ADDRESS=plain_cluster, HOME=str(home))
        output, errors = driver.communicate(timeout=180)
        assert errors == ""
        joined, private, again = map(json.loads, output.splitlines())
        assert joined == again == ["joined", plain_cluster, 3.0]
        assert (private[0], private[2]) == ("private", 1.0)
        refused = script(REFUSED, RAY_ADDRESS=plain_cluster, **wrong_environment(home))
        output, _ = refused.communicate(timeout=180)
        assert output.startswith(expected_error(home, plain_cluster))
        assert any("gcs_server" in process.name() for process in marked("plain"))

    def test_nothing_listens_at_the_address(self) -> None:
        address = f"127.0.0.1:{free_port()}"
        with pytest.raises(ClusterError) as error:
            join(address, None)
        assert f"no Ray cluster answers at {address} (ConnectionRefusedError: " in str(error.value)
        assert "check that it runs (`ray status`) and the address (RAY_ADDRESS)" in str(error.value)

    def test_auto_finds_a_cluster_that_has_ended(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Ray keeps its address in a file, and would try to connect for a minute."""
        address = f"127.0.0.1:{free_port()}"
        monkeypatch.setattr(RESOLVE_AUTO.path.replace(":", "."), {"auto": address}.get)
        with pytest.raises(ClusterError, match=f"no Ray cluster answers at {address}"):
            join("auto", None)

    def test_auto_finds_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def find_nothing(_: str) -> str:
            raise ConnectionError("Could not find any running Ray instance.")

        monkeypatch.setattr(RESOLVE_AUTO.path.replace(":", "."), find_nothing)
        with pytest.raises(ClusterError, match="no Ray cluster runs on this machine, which is"):
            join("auto", None)

    @pytest.mark.parametrize("address", ["nonsense", "host:port"])
    def test_an_invalid_address(self, address: str) -> None:
        with pytest.raises(ClusterError, match="is not the address of a Ray cluster; give host"):
            join(address, None)

    def test_nothing_listens_at_the_address_of_a_client(self) -> None:
        address = f"ray://127.0.0.1:{free_port()}"
        with pytest.raises(ClusterError, match=f"no Ray cluster answers at {address}"):
            join(address, None)

    def test_the_port_of_ray_itself_is_not_the_clients(self, cluster: Any) -> None:
        address = f"ray://{cluster.address}"
        with pytest.raises(ClusterError) as error, authenticated_client(address):
            pass
        assert f"{address} is not a Ray Client server" in str(error.value)
        assert f"or {cluster.address} without ray:// for that of Ray itself" in str(error.value)

    def test_grpcio_is_not_installed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "grpc", None)
        with pytest.raises(ClusterError, match=r"ray://a:1 needs grpcio.*: pip install 'ray\[cl"):
            join("ray://a:1", None)

    @pytest.mark.parametrize("has_token", [True, False])
    def test_workers_start_in_an_open_cluster(
        self, has_token: bool, cluster: Any, script: Any, tmp_path: Path
    ) -> None:
        """The cluster has no token, but our home directory may have one."""
        (tmp_path / ".ray").mkdir()
        if has_token:
            (tmp_path / ".ray" / "auth_token").write_text("5a" * 32)
        driver = script(STARTS_A_WORKER, RAY_ADDRESS=cluster.address, HOME=str(tmp_path))

        output, errors = driver.communicate(timeout=180)

        assert (output, errors) == ("joined hello\n", "")


class AuthenticationError(Exception):
    pass


class TestDescribeJoinError:
    @pytest.mark.parametrize(
        ("error", "message"),
        [
            (RuntimeError("Version mismatch: Ray: 2.1"), "runs other versions of Python or Ray"),
            (AuthenticationError("no"), "wants a token, and this process has none: put it"),
            (OSError("no route"), "the Ray cluster at a:1 cannot be joined"),
        ],
    )
    def test_ways_out(self, error: Exception, message: str) -> None:
        assert message in describe_join_error("a:1", error)


class TestRayOfTheCaller:
    def test_it_is_used_and_not_ended(self, cluster: Any) -> None:
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
