"""Rolls: the actors of a job by name, so that none of them outlives it."""

from collections.abc import Callable
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

    def tell(self, what: Callable[[Any], None]) -> list[Any]:
        """Have each of them do this after the calls it has; whoever is dead or far gone does not.

        Calls last as long as somebody holds what is returned.
        """
        import ray

        told: list[Any] = []
        for name in list(self._names):
            with suppress(ValueError, AttributeError, ray.exceptions.RayError):
                told.append(ray.get_actor(name).__ray_call__.remote(what))
        return told

    def dismiss(self) -> None:
        """End those that are still there, or are about to come back."""
        import ray

        while self._names:
            with suppress(ValueError, ray.exceptions.RayError):
                ray.kill(ray.get_actor(self._names.pop()))
