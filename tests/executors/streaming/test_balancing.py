"""Balancing: the step that holds up the line gets the hardware."""

from curator_streaming.scheduling.balancing import Claimant, fair_counts, pace
from curator_streaming.scheduling.needs import GB, UNIT, Capacity, Device, Need
from curator_streaming.scheduling.nodes import Node

WHOLE = Need(gpus=UNIT)
GPUS = tuple(Device(str(i), 80 * GB) for i in range(8))
MANY = 1 << 30


def nodes(count=1):
    return [Node(f"n{i}", Capacity(16, 256 * GB, GPUS)) for i in range(count)]


def test_hardware_goes_by_the_work_there_is():
    claimants = [Claimant(1, WHOLE, 1.0, MANY), Claimant(2, WHOLE, 3.0, MANY)]
    counts = fair_counts(nodes(), claimants)
    assert counts == {1: 2, 2: 6}
    assert pace(counts, claimants) == 2.0


def test_nobody_gets_more_than_it_can_use():
    claimants = [Claimant(1, WHOLE, 1.0, MANY), Claimant(2, WHOLE, 30.0, 2)]
    assert fair_counts(nodes(), claimants) == {1: 6, 2: 2}


def test_what_was_asked_for_comes_before_what_is_shared_out():
    claimants = [Claimant(1, WHOLE, 9.0, MANY), Claimant(2, WHOLE, 1.0, 5, is_fixed=True)]
    assert fair_counts(nodes(), claimants) == {1: 3, 2: 5}


def test_small_shares_are_packed_so_that_whole_devices_stay():
    quarter = Need(gpus=UNIT // 4)
    claimants = [Claimant(1, quarter, 1.0, 4), Claimant(2, WHOLE, 1.0, MANY)]
    assert fair_counts(nodes(), claimants) == {1: 4, 2: 7}


def test_host_memory_counts():
    hungry = Need(gpus=UNIT, memory=100 * GB)
    assert fair_counts(nodes(), [Claimant(1, hungry, 1.0, MANY)]) == {1: 2}


def test_where_not_one_of_each_fits_the_first_in_line_is_served():
    all_of_it = Need(gpus=8 * UNIT)
    claimants = [Claimant(2, all_of_it, 1.0, MANY), Claimant(1, all_of_it, 9.0, MANY)]
    assert fair_counts(nodes(), claimants) == {2: 1, 1: 0}
