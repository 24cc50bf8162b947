"""Answering: what a server did that gave no file, which fsspec tells as if there were none."""

import errno
from collections.abc import Iterator

_NOT_THERE = (404, 410)


def misanswer(error: BaseException) -> str | None:
    """What it did rather than to say that it has no such file; None where it said so."""
    causes = list(_causes(error))
    statuses = [status for cause in causes if (status := getattr(cause, "status", None))]
    if statuses:
        return None if statuses[-1] in _NOT_THERE else f"its server answers {statuses[-1]}"
    if not any(_is_silence(cause) for cause in causes):
        return None
    return (
        f"its server does not answer ({causes[-1]}); is it running, and can it be reached from "
        "here? Then try again what is in quarantine"
    )


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _is_silence(error: BaseException) -> bool:
    """Whether it is one of a network, also where aiohttp has not made it one of Python's."""
    if isinstance(error, ConnectionError | TimeoutError) or type(error).__module__ == "socket":
        return True
    is_unreachable = getattr(error, "errno", None) in (errno.EHOSTUNREACH, errno.ENETUNREACH)
    return is_unreachable or type(error).__module__.startswith("aiohttp")
