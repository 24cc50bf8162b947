"""Processes killed for their memory are distinguished from others that were killed."""

import pytest
from curator_core.local import memory_kills
from curator_core.local.memory_kills import MemoryKills


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """The system's facts: kills in our group, kills on the machine, and the log of the kernel."""
    facts: dict[str, object] = {"ours": 2, "all": 5, "log": None}
    monkeypatch.setattr(memory_kills, "_kills_of_ours", lambda: facts["ours"])
    monkeypatch.setattr(memory_kills, "_all_kills", lambda: facts["all"])
    monkeypatch.setattr(
        memory_kills,
        "_is_in_kernel_log",
        lambda pid: None if facts["log"] is None else pid in facts["log"],  # type: ignore[operator]
    )
    return facts


def test_without_a_kill_no_death_is_explained(machine: dict[str, object]) -> None:
    machine["log"] = [7]
    assert not MemoryKills().explain(7)


def test_a_kill_in_our_group_explains_one_death(machine: dict[str, object]) -> None:
    kills = MemoryKills()
    machine.update(ours=4, all=7)
    assert [kills.explain(pid) for pid in (1, 2, 3)] == [True, True, False]


@pytest.mark.parametrize(("log", "expected"), [(None, False), ([8], False), ([7], True)])
def test_a_kill_elsewhere_counts_only_with_our_process_id(
    machine: dict[str, object], log: object, expected: bool
) -> None:
    kills = MemoryKills()
    machine.update(all=6, log=log)
    assert kills.explain(7) is expected


def test_without_other_facts_any_kill_counts(machine: dict[str, object]) -> None:
    machine["ours"] = None
    kills = MemoryKills()
    machine["all"] = 6
    assert [kills.explain(pid) for pid in (1, 2)] == [True, False]


def test_another_process_continues_from_the_kills_already_seen(machine: dict[str, object]) -> None:
    seen = MemoryKills().seen
    machine.update(ours=3, all=6)
    assert MemoryKills(seen).explain(1)
    assert not MemoryKills().explain(1)


def test_this_system_reports_kills() -> None:
    ours, all_kills = MemoryKills().seen
    assert all_kills >= (ours or 0) >= 0
