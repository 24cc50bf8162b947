"""What a cluster tells of its object stores."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest


def test_the_own_cluster_is_asked_what_it_spilled(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = pytest.importorskip("ray")
    internal = pytest.importorskip("ray._private.internal_api")
    from curator_ray.cluster import object_store

    def told(address: str, **_: Any) -> Any:
        return SimpleNamespace(store_stats=SimpleNamespace(spilled_bytes_total=len(address)))

    monkeypatch.setattr(ray, "get_runtime_context", lambda: SimpleNamespace(gcs_address="here:1"))
    monkeypatch.setattr(internal, "get_state_from_address", lambda address: address)
    monkeypatch.setattr(internal, "get_memory_info_reply", told)
    assert object_store._spilled() == len("here:1")


class Head:
    """As much of Ray's node as is looked at."""

    def __init__(self, place: Path) -> None:
        self._object_spilling_config = json.dumps({"params": {"directory_path": [str(place)]}})

    def is_head(self) -> bool:
        return True


def test_a_cluster_of_our_own_is_not_asked_before_it_spills(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("ray")
    from curator_ray.cluster.object_store import _may_have_spilled
    from ray._private import worker

    monkeypatch.setattr(worker, "_global_node", None)
    assert _may_have_spilled()
    monkeypatch.setattr(worker, "_global_node", Head(tmp_path))
    assert not _may_have_spilled()
    (tmp_path / "ray_spilled_objects_1").mkdir()
    assert _may_have_spilled()


def test_what_a_cluster_of_our_own_spilled_is_told(script: Any) -> None:
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
    said, errors = script(text).communicate(timeout=90)
    assert said.split() == ["0", "False", "True"], errors
