"""What of Ray Data's talk reaches the console."""

import logging
from collections.abc import Iterator

import pytest
from curator_ray_data.contexts import quietly


class PlainRayHandler(logging.Handler):
    """Called like that of Ray Data, which writes to the console."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(record.getMessage())


@pytest.fixture
def console() -> Iterator[PlainRayHandler]:
    logger, handler = logging.getLogger("ray.data"), PlainRayHandler()
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield handler
    logger.setLevel(level)
    logger.removeHandler(handler)


def talk() -> None:
    logging.getLogger("ray.data._internal.progress.logging_progress").info("12 of 60")
    logging.getLogger("ray.data.dataset").info("a plan")
    logging.getLogger("ray.data.dataset").error("an error")


@pytest.mark.parametrize(
    ("shows_progress", "said"), [(False, []), (True, ["12 of 60", "an error"])]
)
def test_progress_is_shown_to_whoever_wants_it(
    shows_progress: bool, said: list[str], console: PlainRayHandler
) -> None:
    with quietly(shows_progress=shows_progress):
        talk()
    assert console.said == said

    talk()
    assert console.said[len(said) :] == ["12 of 60", "a plan", "an error"]


def test_two_runs_at_once_are_both_quiet(console: PlainRayHandler) -> None:
    first, second = quietly(shows_progress=False), quietly(shows_progress=False)
    first.__enter__()
    with second:
        first.__exit__(None, None, None)
        talk()
    assert console.said == []

    talk()
    assert len(console.said) == 3
