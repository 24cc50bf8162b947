"""Cache of decoded recordings for the following stages in the same process."""

import os
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import Any

from curator_core.io.filesystems import StorageOptions, local_path

from curator_audio.decoding import decoded, formed
from curator_audio.forms import NATIVE, Form
from curator_audio.opening import Source
from curator_audio.waveforms import Waveform

BUDGET = 128 * 1024 * 1024
"""Bytes of samples that one batch may keep; longer recordings are decoded again."""


class Recordings:
    """Samples by recording and form. Belongs to a batch, and is never sent to another process."""

    def __init__(self, budget: int = BUDGET) -> None:
        self._known: dict[tuple[Source, Form], list[Waveform]] = {}
        self._room = budget
        self._too_long: set[Source] = set()
        self._shared: dict[tuple[int, int], tuple[Any, bytes]] = {}
        self._keys: dict[bytes, str] = {}

    def shared(self, value: Any) -> bytes | None:
        """Return the bytes of an Arrow dictionary entry, extracted once for all its rows."""
        entries, number = value.dictionary, value.index.as_py()
        if number is None:
            return None
        place = entries.buffers()[-1].address, number
        if place not in self._shared:  # holding the dictionary keeps its address unique
            self._shared[place] = entries, entries[number].as_py()
        return self._shared[place][1]

    def key_of(self, source: Source) -> str:
        """Return the path, or the digest of the bytes, computed once for rows that share them."""
        if isinstance(source, str):
            return source
        if source not in self._keys:
            self._keys[source] = blake2b(source, digest_size=16).hexdigest()
        return self._keys[source]

    def hear(
        self, source: Source, form: Form, storage_options: StorageOptions | None
    ) -> Iterator[Waveform]:
        """Yield the blocks of a recording, from the cache if possible."""
        known = self._known.get((source, form))
        if known is not None:
            yield from known
            return
        native = self._known.get((source, NATIVE))
        if native is not None:
            samples = (wave.samples for wave in native)
            yield from self._kept(formed(samples, native[0].sample_rate, form), source, form)
            return
        lengths: list[float] = []
        blocks = decoded(source, form, storage_options, lengths.append)
        yield from self._kept(blocks, source, form, lengths)

    def only(self, sources: Iterable[Source]) -> "Recordings":
        """Return the cache entries of some sources, so that the others can be freed."""
        wanted = set(sources)
        kept = Recordings(self._room)
        kept._too_long = self._too_long & wanted
        kept._shared = {place: one for place, one in self._shared.items() if one[1] in wanted}
        for (source, form), blocks in self._known.items():
            if source in wanted:
                kept._known[source, form] = blocks
            else:
                kept._room += _size(blocks)
        return kept

    def forget(self) -> None:
        self._known.clear()
        self._shared.clear()
        self._keys.clear()
        self._room = BUDGET

    def _kept(
        self, blocks: Iterable[Waveform], source: Source, form: Form, lengths: Sequence[float] = ()
    ) -> Iterator[Waveform]:
        """Yield the blocks and cache them. `lengths` has the seconds, if the header has them."""
        gathered: list[Waveform] | None = [] if self._may_fit(source) else None
        size = 0
        for block in blocks:
            size += block.samples.nbytes
            expected = max(size, *(_bytes_of(seconds, block) for seconds in lengths), 0)
            if expected > self._room and gathered is not None:
                gathered = None
                self._too_long.add(source)
            if gathered is not None:
                gathered.append(block)
            yield block
        if gathered is not None:
            self._known[source, form] = gathered
            self._room -= size

    def _may_fit(self, source: Source) -> bool:
        """Return whether a source may fit: not too long before, and its file is not too large."""
        if source in self._too_long:
            return False
        path = local_path(source) if isinstance(source, str) else None
        try:
            return path is None or os.stat(path).st_size <= self._room
        except (OSError, ValueError):  # opening it reports the error
            return True


def _bytes_of(seconds: float, block: Waveform) -> float:
    return seconds * block.sample_rate * len(block.samples) * block.samples.itemsize


def _size(blocks: Iterable[Waveform]) -> int:
    return sum(block.samples.nbytes for block in blocks)
