"""Private clusters are closed to others, and leave nothing behind however their driver ends."""

import json
import os
import signal
import stat
from typing import Any

import psutil
from curator_ray.cluster.private import private_cluster_addresses
from waitkit import eventually

DRIVER = """
import json, os, signal, sys, time
from curator_ray.cluster.connection import connected
before = dict(os.environ), signal.getsignal(signal.SIGTERM)
with connected() as connection:
    import ray
    with connected() as inner:
        nested = inner is connection
    facts = {
        "kind": connection.kind,
        "folder": connection.folder,
        "address": connection.address,
        "mode": os.stat(connection.folder).st_mode,
        "nested": nested,
        "answers": ray.get(ray.remote(num_cpus=0)(lambda: os.getpid()).remote()) > 0,
        "nodes": [node["NodeManagerAddress"] for node in ray.nodes()],
        "same_handler": signal.getsignal(signal.SIGTERM) is before[1],
        "variables": sorted(
            k for k in os.environ if os.environ[k] != before[0].get(k) and k != "RAY_CLIENT_MODE"
        ),
    }
    print(json.dumps(facts), flush=True)
    sys.stdin.read() if len(sys.argv) > 1 else time.sleep(float(os.environ.get("STAY_S", "0")))
print(json.dumps(ray.is_initialized()), flush=True)
"""


class TestPrivateCluster:
    def test_it_is_closed_to_others_and_leaves_nothing(self, script: Any, marked: Any) -> None:
        driver = script(DRIVER, **marked.variable("private"), STAY_S="1")
        facts = json.loads(driver.stdout.readline())
        listening = [
            connection.laddr.ip
            for process in marked("private")
            for connection in process.net_connections("tcp")
            if connection.status == psutil.CONN_LISTEN
        ]
        intervals = [
            process.environ().get("RAY_task_events_report_interval_ms")
            for process in marked("private")
            if process.name() == "gcs_server"
        ]
        assert intervals == ["0"]  # no history of calls, which would grow with the run
        assert facts["address"] in private_cluster_addresses()  # which `auto` never means
        output, errors = driver.communicate(timeout=180)
        assert (driver.returncode, errors) == (0, "")
        assert facts["address"] not in private_cluster_addresses()
        assert listening
        assert {ip.removeprefix("::ffff:") for ip in listening} == {"127.0.0.1"}
        assert facts["kind"] == "private"
        assert facts["nested"]
        assert facts["answers"]
        assert facts["nodes"] == ["127.0.0.1"]
        assert facts["same_handler"]
        assert facts["variables"] == []
        assert stat.S_IMODE(facts["mode"]) == 0o700
        assert json.loads(output) is False
        assert not os.path.exists(facts["folder"])
        assert not marked("private")

    def test_three_at_once_end_with_their_drivers(
        self,
        script: Any,
        marked: Any,
    ) -> None:
        ends = {"kill": signal.SIGKILL, "ctrl-c": signal.SIGINT, "term": signal.SIGTERM}
        drivers = {name: script(DRIVER, **marked.variable(name), STAY_S="60") for name in ends}
        facts = {name: json.loads(d.stdout.readline()) for name, d in drivers.items()}
        assert len({found["address"] for found in facts.values()}) == 3
        for name, number in ends.items():
            assert len(marked(name)) > 3
            drivers[name].send_signal(number)
        for name in ends:
            has_ended = eventually(lambda name=name: not marked(name))  # type: ignore[misc]
            assert has_ended, f"after {name}: {marked(name)}"
            assert not os.path.exists(facts[name]["folder"])
        _, errors = drivers["kill"].communicate(timeout=180)
        assert "curator: the process that used a private Ray cluster ended without" in errors
        assert "curator:" not in drivers["ctrl-c"].communicate(timeout=180)[1]

    def test_it_outlives_the_thread_that_started_it(self, script: Any) -> None:
        driver = script(
            """
            import threading
            from curator_ray.cluster.connection import connected
            first = connected()
            thread = threading.Thread(target=first.__enter__)
            thread.start()
            thread.join()
            with connected() as connection:
                import ray
                answer = ray.remote(num_cpus=0)(lambda: "answers").remote()
                print(connection.kind, ray.get(answer, timeout=90))
            first.__exit__(None, None, None)
            print(ray.is_initialized())
            """
        )
        output, errors = driver.communicate(timeout=180)
        assert (output, errors) == ("private answers\nFalse\n", "")

    def test_why_ray_does_not_start(self, script: Any, short_folder: str) -> None:
        driver = script(
            """
            from curator_core import CuratorError
            from curator_ray.cluster.connection import connected
            from curator_ray.cluster.private import PrivateCluster
            import glob, sys, tempfile
            sys.modules["aiohttp"] = None
            kinds = {"custom": {"CPU": 3}}, {"dashboard": True}, {"object_store_gb": 0.03}
            for kind in kinds:
                try:
                    with connected(private=PrivateCluster(**kind)):
                        pass
                except CuratorError as error:
                    print(error)
            print(glob.glob(tempfile.gettempdir() + "/curator-ray-*"))
            """,
            TMPDIR=short_folder,
        )
        output, _ = driver.communicate(timeout=180)
        first, dashboard, small, left = output.splitlines()
        assert first.startswith("no private Ray cluster could be started: ")
        assert first.endswith("set RAY_ADDRESS to its address")
        assert dashboard.endswith("dashboard is not installed here: pip install 'ray[default]'")
        assert small.endswith("; give object_store_gb=0.08 or more")
        assert left == "[]"
