"""Wishes: what a run is asked for besides its results."""

from typing import TypeAlias

Wish: TypeAlias = bool | int | str | None
"""Whether and where metrics are served. True: at the first free port from 9464 on. A port, or
`HOST:PORT`: at that one and no other."""
