"""Nodes that join and die at random, for minutes, while small tasks pass between stages."""

import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from clusterkit import Grid, say
from curator_core import Pipeline, ProcessingStage, Task
from curator_core.model.tasks import Dropped
from curator_streaming.executor import StreamingExecutor

pytestmark = [pytest.mark.soak, pytest.mark.timeout(300)]

Tasks = ProcessingStage[Task[Any], Task[Any]]
SOURCES = 1500
EVERY_S = 1.5


def parts_of(number: int) -> list[tuple[int, int]]:
    return [(number, part) for part in range(number % 5)]


class Splits(Tasks):
    """Splits a number into up to four parts, large enough to stay on their node."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def process(self, task: Task[Any]) -> Any:
        time.sleep(self.seconds)
        weight = bytes([task.data % 251]) * 150_000
        parts = [task.with_data((*part, weight)) for part in parts_of(task.data)]
        return parts or Dropped("no parts")


class Weighs(Tasks):
    """Checks the data of a part and removes it; drops every seventh part."""

    def process(self, task: Task[Any]) -> Any:
        number, part, weight = task.data
        assert weight == bytes([number % 251]) * 150_000
        time.sleep(0.01)
        return (
            Dropped("every seventh") if (number + part) % 7 == 0 else task.with_data((number, part))
        )


class Counts(Tasks):
    def process(self, task: Task[Any]) -> Task[Any]:
        return task


@contextmanager
def changing_nodes(field: Grid, chance: random.Random) -> Iterator[list[int]]:
    """Let nodes join and die at random intervals."""
    added: list[Any] = []
    kills = [0]
    has_ended = threading.Event()

    def change() -> None:
        while not has_ended.wait(EVERY_S * chance.uniform(0.5, 1.5)):
            if len(added) < 2 or (len(added) < 4 and chance.random() < 0.4):
                added.append(field.add(num_cpus=1))
            else:
                field.kill(added.pop(chance.randrange(len(added))))
                kills[0] += 1

    thread = threading.Thread(target=change)
    thread.start()
    try:
        yield kills
    finally:
        has_ended.set()
        thread.join()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("ends_with_large", [False, True])
def test_nothing_is_lost_or_duplicated(field: Grid, seed: int, ends_with_large: bool) -> None:
    unfused = {"streaming": {"fuse": False}}
    stages: list[Any] = [Splits(0.08)]
    if not ends_with_large:
        stages = [Splits(0.02), Weighs().with_(hints=unfused), Counts().with_(hints=unfused)]
    pipeline = Pipeline("weather", stages=stages, max_failures=None)
    found: Counter[tuple[int, int]] = Counter()
    with changing_nodes(field, random.Random(seed)) as kills:
        stream = pipeline.stream(StreamingExecutor(), tasks=[Task(n) for n in range(SOURCES)])
        for task in stream:
            found[task.data[:2]] += 1
    every = [part for number in range(SOURCES) for part in parts_of(number)]
    expected = {part for part in every if ends_with_large or sum(part) % 7}
    result = stream.result
    say(f"{kills[0]} nodes killed in {result.seconds:.0f} s: {result.worker_restarts}")
    assert kills[0] > 2
    assert result.quarantined == []
    assert found == Counter(expected)
    assert result.stages["splits"].tasks_in == SOURCES
    assert result.stages["splits"].tasks_out == len(every)
