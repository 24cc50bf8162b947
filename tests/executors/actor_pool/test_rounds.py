"""How many sources go through the stages together."""

from curator_actor_pool.rounds import EVERYTHING, Rounds


def sizes(rounds: Rounds, per_source: float, seconds: float, times: int = 6) -> list[int]:
    found = []
    for _ in range(times):
        found.append(rounds.count)
        rounds.ended(rounds.count, rounds.count * per_source, rounds.count * seconds)
    return found


def test_they_grow_from_one_source() -> None:
    assert sizes(Rounds(1e12, 600, is_batch=False), 1.0, 0.001) == [1, 4, 16, 64, 256, 1024]


def test_they_stay_within_the_room() -> None:
    assert sizes(Rounds(100.0, 600, is_batch=False), 3.0, 0.001) == [1, 4, 16, 33, 33, 33]


def test_they_take_no_longer_than_they_should() -> None:
    assert sizes(Rounds(1e12, 60, is_batch=False), 1.0, 2.0) == [1, 4, 16, 30, 30, 30]


def test_one_source_that_is_too_much_by_itself_goes_alone() -> None:
    assert sizes(Rounds(100.0, 60, is_batch=False), 1e6, 900.0) == [1] * 6


def test_sources_that_grow_make_them_smaller() -> None:
    rounds = Rounds(100.0, 600, is_batch=False)
    assert sizes(rounds, 1.0, 0.001, 5)[-1] == 100

    rounds.ended(100, 1000.0, 0.1)

    assert rounds.count == 10


def test_a_batch_is_everything() -> None:
    rounds = Rounds(100.0, 60, is_batch=True)
    assert sizes(rounds, 1e6, 900.0, 2) == [EVERYTHING, EVERYTHING]
