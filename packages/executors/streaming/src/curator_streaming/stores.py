"""Stores: which parcels are in the object store, and what the driver knows of each task there."""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from curator_core import AnyTask
from curator_core.model.lineage import SourceKey
from curator_ray.answers import Answer
from curator_ray.sending import send

from curator_streaming.scheduling import parcels as scheduling
from curator_streaming.scheduling.parcels import Piece

Keys = tuple[SourceKey, ...]
_PER_TASK = 200
"""Bytes that the driver keeps of a task, roughly."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A parcel as the driver knows it: the data itself stays where it is."""

    ref: Any
    ids: Sequence[str]
    keys: Sequence[Keys]


class Store:
    """Holds the references to parcels, for as long as somebody needs them."""

    def __init__(self) -> None:
        self._parcels: dict[Hashable, Stored] = {}
        self._handles = count()

    def put(self, tasks: list[AnyTask]) -> scheduling.Parcel:
        """Send sources on their way."""
        ref, size = send(tasks)
        stored = Stored(ref, [t.task_id for t in tasks], [tuple(t.lineage) for t in tasks])
        return self._add(stored, size, "")

    def keep(self, ref: Any, answer: Answer, node: str) -> scheduling.Parcel:
        """Take note of what a call gave."""
        stored = Stored(ref, answer.task_ids, answer.sources)
        return self._add(stored, size_of(answer), node)

    def _add(self, stored: Stored, size: int, node: str) -> scheduling.Parcel:
        handle = next(self._handles)
        self._parcels[handle] = stored
        return scheduling.Parcel(handle, len(stored.ids), size, node)

    def __getitem__(self, handle: Hashable) -> Stored:
        return self._parcels[handle]

    def release(self, handle: Hashable) -> None:
        self._parcels.pop(handle, None)

    def keys_of(self, pieces: Iterable[Piece]) -> Keys:
        """The sources that these tasks are made of, each once."""
        found: dict[SourceKey, None] = {}
        for piece in pieces:
            stored = self._parcels.get(piece.handle)
            for keys in stored.keys[piece.start : piece.stop] if stored else ():
                found.update(dict.fromkeys(keys))
        return tuple(found)

    def ids_of(self, pieces: Iterable[Piece]) -> Iterator[tuple[Piece, str]]:
        """Each task by itself."""
        for piece in pieces:
            stored = self._parcels.get(piece.handle)
            for position in range(piece.start, piece.stop) if stored else ():
                assert stored is not None
                yield Piece(piece.handle, position, position + 1), stored.ids[position]

    def void(self, attempts: dict[str, int]) -> tuple[Hashable, ...]:
        """Parcels that hold nothing but earlier attempts at these sources."""

        def is_void(key: SourceKey) -> bool:
            return key[1] < attempts.get(key[0], key[1])

        return tuple(
            handle
            for handle, stored in self._parcels.items()
            if all(is_void(key) for keys in stored.keys for key in keys)
        )


def size_of(answer: Answer) -> int:
    return answer.nbytes + _PER_TASK * len(answer)
