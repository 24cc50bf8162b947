"""How many tasks go into one call."""

from curator_actor_pool.call_size import CallSizer


def test_the_first_calls_are_small() -> None:
    assert CallSizer(1).tasks_per_call(1000, 1e4, 4) == 1
    assert CallSizer(16).tasks_per_call(1000, 1e4, 4) == 16


def test_small_tasks_share_a_call() -> None:
    sizer = CallSizer(1)
    sizer.learn(10, 0.01, 100)  # a millisecond each

    assert sizer.tasks_per_call(100_000, 1e6, 4) == 50
    assert sizer.calls_per_worker(2, 100_000, 4) == 2


def test_calls_shrink_towards_the_end() -> None:
    sizer = CallSizer(1)
    sizer.learn(10, 0.01, 100)

    assert [sizer.tasks_per_call(n, 100.0 * n, 4) for n in (80, 16, 3, 1)] == [10, 2, 1, 1]


def test_batches_stay_whole() -> None:
    sizer = CallSizer(8)
    sizer.learn(8, 0.008, 100)

    assert sizer.tasks_per_call(100_000, 1e6, 4) == 48
    assert sizer.tasks_per_call(5, 1e3, 4) == 8  # all that is left
    assert CallSizer(10**9).tasks_per_call(5000, 1e6, 4) == 10**9


def test_large_tasks_have_calls_of_their_own() -> None:
    sizer = CallSizer(1)
    sizer.learn(1, 0.0001, 40 << 20)

    assert sizer.tasks_per_call(100, 1e3, 2) == 1
    assert CallSizer(1).tasks_per_call(100, 100 * (40 << 20), 2) == 1


def test_long_calls_are_given_to_free_workers() -> None:
    sizer = CallSizer(1)
    assert sizer.calls_per_worker(2, 100, 4) == 1
    sizer.learn(1, 30.0, 10)

    assert sizer.calls_per_worker(2, 10, 4) == 1
    assert sizer.calls_per_worker(2, 100, 4) == 2  # enough is left to balance it
