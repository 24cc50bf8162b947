"""What a cluster tells of its object stores."""

from types import SimpleNamespace
from typing import Any

import pytest


def test_the_own_cluster_is_asked_what_it_spilled(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = pytest.importorskip("ray")
    internal = pytest.importorskip("ray._private.internal_api")
    from curator_ray import storing

    def told(address: str, **_: Any) -> Any:
        return SimpleNamespace(store_stats=SimpleNamespace(spilled_bytes_total=len(address)))

    monkeypatch.setattr(ray, "get_runtime_context", lambda: SimpleNamespace(gcs_address="here:1"))
    monkeypatch.setattr(internal, "get_state_from_address", lambda address: address)
    monkeypatch.setattr(internal, "get_memory_info_reply", told)
    assert storing._spilled() == len("here:1")
