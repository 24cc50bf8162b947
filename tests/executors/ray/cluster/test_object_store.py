"""How full the object stores of a cluster are, and how much was spilled."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from curator_ray import compat

ray = pytest.importorskip("ray")


def test_spilled_bytes_come_from_the_connected_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    internal = pytest.importorskip(compat.MEMORY_INFO.path.partition(":")[0])
    from curator_ray.cluster import object_store

    def memory_info(address: str, **_: Any) -> Any:
        return SimpleNamespace(store_stats=SimpleNamespace(spilled_bytes_total=len(address)))

    monkeypatch.setattr(ray, "get_runtime_context", lambda: SimpleNamespace(gcs_address="here:1"))
    monkeypatch.setattr(internal, "get_state_from_address", lambda address: address)
    monkeypatch.setattr(internal, "get_memory_info_reply", memory_info)
    assert object_store._spilled_bytes(ray) == len("here:1")
    monkeypatch.setattr(compat, "installed_version", lambda: "9.9.0")
    assert object_store._spilled_bytes(ray) == 0


def test_a_private_cluster_is_not_asked_before_it_spills(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from curator_ray.cluster import object_store

    monkeypatch.setattr(object_store, "private_folder", lambda: None)
    assert object_store._may_have_spilled()
    monkeypatch.setattr(object_store, "private_folder", lambda: str(tmp_path))
    assert not object_store._may_have_spilled()
    (tmp_path / "ray" / "session_1" / "ray_spilled_objects_1").mkdir(parents=True)
    assert object_store._may_have_spilled()


def test_spilled_bytes_of_a_private_cluster(script: Any) -> None:
    text = """
        import sys
        from curator_ray.cluster.connection import connected
        from curator_ray.cluster.private import PrivateCluster
        from curator_ray.cluster.object_store import store_use

        with connected(private=PrivateCluster(object_store_gb=0.1)):
            import ray
            held = [ray.put(bytes(20_000_000))]
            print(store_use().spilled, "grpc" in sys.modules)
            held += [ray.put(bytes(20_000_000)) for _ in range(5)]
            print(store_use().spilled >= 20_000_000)
        """
    output, errors = script(text).communicate(timeout=180)
    assert output.split() == ["0", "False", "True"], errors
