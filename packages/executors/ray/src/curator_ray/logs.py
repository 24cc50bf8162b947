"""Logs: what workers have to say reaches the user where it matters, and no more often than that."""

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass

_MOST_PER_CALL = 50
_TIMES_TOLD = 3
_NOT_OURS = ("ray",)


@dataclass(frozen=True)
class Line:
    """A warning or an error, on its way from a worker to the driver."""

    logger: str
    level: int
    message: str
    template: str
    """The message before anything was filled in: lines of one template are alike."""


class Catcher(logging.Handler):
    """Keeps warnings and errors of one worker until the next answer takes them along."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._lines: list[Line] = []

    def install(self) -> None:
        logging.captureWarnings(True)
        logging.getLogger().addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        if record.name.startswith(_NOT_OURS) or len(self._lines) >= _MOST_PER_CALL:
            return
        try:
            message = record.getMessage()
        except Exception:  # noqa: BLE001 - a wrong format string is no reason to lose the line
            message = str(record.msg)
        self._lines.append(Line(record.name, record.levelno, message, str(record.msg)))

    def take(self) -> tuple[Line, ...]:
        lines, self._lines = tuple(self._lines), []
        return lines


class Relay:
    """Passes lines of workers on to the loggers of this process; what is alike, a few times."""

    def __init__(self, add_output: Callable[[str, str], None]) -> None:
        """`add_output` is given what a worker printed."""
        self._add_output = add_output
        self._told: dict[tuple[str, str], int] = {}

    def pass_on(self, worker: str, lines: Iterable[Line], output: str) -> None:
        self._add_output(worker, output)
        for line in lines:
            key = (line.logger, line.template)
            times = self._told[key] = self._told.get(key, 0) + 1
            if times > _TIMES_TOLD:
                continue
            more = " (more like this will not be shown)" if times == _TIMES_TOLD else ""
            logging.getLogger(line.logger).log(
                line.level, "worker %s: %s%s", worker, line.message, more
            )
