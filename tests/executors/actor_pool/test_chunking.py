"""How many tasks go into one call."""

from curator_actor_pool.chunking import Chunks


def test_the_first_calls_are_small() -> None:
    assert Chunks(1).tasks(1000, 1e4, 4) == 1
    assert Chunks(16).tasks(1000, 1e4, 4) == 16


def test_a_call_is_worth_its_while() -> None:
    chunks = Chunks(1)
    chunks.learn(10, 0.01, 100)  # a millisecond each

    assert chunks.tasks(100_000, 1e6, 4) == 50
    assert chunks.ahead(2, 100_000, 4) == 2


def test_towards_the_end_everybody_gets_some() -> None:
    chunks = Chunks(1)
    chunks.learn(10, 0.01, 100)

    assert [chunks.tasks(n, 100.0 * n, 4) for n in (80, 16, 3, 1)] == [10, 2, 1, 1]


def test_batches_stay_whole() -> None:
    chunks = Chunks(8)
    chunks.learn(8, 0.008, 100)

    assert chunks.tasks(100_000, 1e6, 4) == 48
    assert chunks.tasks(5, 1e3, 4) == 8  # which is what is left
    assert Chunks(10**9).tasks(5000, 1e6, 4) == 10**9


def test_large_tasks_go_alone() -> None:
    chunks = Chunks(1)
    chunks.learn(1, 0.0001, 40 << 20)

    assert chunks.tasks(100, 1e3, 2) == 1
    assert Chunks(1).tasks(100, 100 * (40 << 20), 2) == 1


def test_long_tasks_wait_for_whoever_is_free() -> None:
    chunks = Chunks(1)
    assert chunks.ahead(2, 100, 4) == 1
    chunks.learn(1, 30.0, 10)

    assert chunks.ahead(2, 10, 4) == 1
    assert chunks.ahead(2, 100, 4) == 2  # enough is left to level it out
