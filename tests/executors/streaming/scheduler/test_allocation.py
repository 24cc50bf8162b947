"""Allocation: the bottleneck gets the workers."""

from curator_streaming.scheduler.allocation import StepDemand, allocate_fairly, throughput
from curator_streaming.scheduler.placement import NodeResources
from curator_streaming.scheduler.resources import GB, UNIT, Capacity, Device, Need

WHOLE = Need(gpus=UNIT)
GPUS = tuple(Device(str(i), 80 * GB) for i in range(8))
MANY = 1 << 30


def nodes(count=1):
    return [NodeResources(f"n{i}", Capacity(16, 256 * GB, GPUS)) for i in range(count)]


def test_workers_are_proportional_to_the_work():
    claimants = [StepDemand(1, WHOLE, 1.0, MANY), StepDemand(2, WHOLE, 3.0, MANY)]
    counts = allocate_fairly(nodes(), claimants)
    assert counts == {1: 2, 2: 6}
    assert throughput(counts, claimants) == 2.0


def test_no_step_gets_more_than_its_limit():
    claimants = [StepDemand(1, WHOLE, 1.0, MANY), StepDemand(2, WHOLE, 30.0, 2)]
    assert allocate_fairly(nodes(), claimants) == {1: 6, 2: 2}


def test_requested_workers_come_before_shared_out_ones():
    claimants = [StepDemand(1, WHOLE, 9.0, MANY), StepDemand(2, WHOLE, 1.0, 5, is_fixed=True)]
    assert allocate_fairly(nodes(), claimants) == {1: 3, 2: 5}


def test_gpu_fractions_are_packed_so_that_whole_gpus_stay_free():
    quarter = Need(gpus=UNIT // 4)
    claimants = [StepDemand(1, quarter, 1.0, 4), StepDemand(2, WHOLE, 1.0, MANY)]
    assert allocate_fairly(nodes(), claimants) == {1: 4, 2: 7}


def test_host_memory_counts():
    hungry = Need(gpus=UNIT, memory=100 * GB)
    assert allocate_fairly(nodes(), [StepDemand(1, hungry, 1.0, MANY)]) == {1: 2}


def test_the_first_demand_is_served_if_not_all_fit():
    all_of_it = Need(gpus=8 * UNIT)
    claimants = [StepDemand(2, all_of_it, 1.0, MANY), StepDemand(1, all_of_it, 9.0, MANY)]
    assert allocate_fairly(nodes(), claimants) == {2: 1, 1: 0}
