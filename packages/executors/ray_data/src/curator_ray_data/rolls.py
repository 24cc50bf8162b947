"""Rolls: the actors of a job by name, so that none of them outlives it."""

from contextlib import suppress
from itertools import count
from secrets import token_hex
from typing import Any


class Roll:
    """Names each actor that Ray Data starts.

    One that died would be started once more by Ray, without what it is made of: that is gone with
    the job. It would hold its CPUs for ever.
    """

    def __init__(self, token: str) -> None:
        self._prefix = f"curator-{token[:8]}-{token_hex(4)}"
        self._numbers = count()
        self._names: list[str] = []

    def options(self, options: dict[str, Any]) -> dict[str, Any]:
        """Ray's options for the next actor."""
        name = f"{self._prefix}-{next(self._numbers)}"
        self._names.append(name)
        return {**options, "name": name}

    def dismiss(self) -> None:
        """End those that are still there, or are about to come back."""
        import ray

        while self._names:
            with suppress(ValueError, ray.exceptions.RayError):
                ray.kill(ray.get_actor(self._names.pop()))
