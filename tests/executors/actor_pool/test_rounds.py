"""How many sources go through the stages together."""

from curator_actor_pool.rounds import EVERYTHING, RoundSizer


def sizes(rounds: RoundSizer, per_source: float, seconds: float, times: int = 6) -> list[int]:
    found = []
    for _ in range(times):
        found.append(rounds.sources)
        rounds.record(rounds.sources, rounds.sources * per_source, rounds.sources * seconds)
    return found


def test_rounds_grow_from_one_source() -> None:
    assert sizes(RoundSizer(1e12, 600, is_batch=False), 1.0, 0.001) == [1, 4, 16, 64, 256, 1024]


def test_rounds_stay_within_their_bytes() -> None:
    assert sizes(RoundSizer(100.0, 600, is_batch=False), 3.0, 0.001) == [1, 4, 16, 33, 33, 33]


def test_rounds_stay_within_their_time() -> None:
    assert sizes(RoundSizer(1e12, 60, is_batch=False), 1.0, 2.0) == [1, 4, 16, 30, 30, 30]


def test_a_source_that_is_too_large_has_a_round_of_its_own() -> None:
    assert sizes(RoundSizer(100.0, 60, is_batch=False), 1e6, 900.0) == [1] * 6


def test_rounds_shrink_if_sources_become_larger() -> None:
    rounds = RoundSizer(100.0, 600, is_batch=False)
    assert sizes(rounds, 1.0, 0.001, 5)[-1] == 100

    rounds.record(100, 1000.0, 0.1)

    assert rounds.sources == 10


def test_batch_mode_has_one_round_of_everything() -> None:
    rounds = RoundSizer(100.0, 60, is_batch=True)
    assert sizes(rounds, 1e6, 900.0, 2) == [EVERYTHING, EVERYTHING]
