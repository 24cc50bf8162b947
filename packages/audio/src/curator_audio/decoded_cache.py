"""Cache of decoded recordings for later stages in the same process."""

import os
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import Any

from curator_core.io.filesystems import StorageOptions, local_path

from curator_audio.container import AudioSource
from curator_audio.decoding import convert_blocks, decode_blocks
from curator_audio.waveform import NATIVE, AudioFormat, Waveform

BUDGET = 128 * 1024 * 1024
"""Bytes of samples that one batch may keep; longer recordings are decoded again."""


class DecodedCache:
    """Samples by recording and format. Belongs to a batch, and is never sent to another process."""

    def __init__(self, budget: int = BUDGET) -> None:
        self._blocks: dict[tuple[AudioSource, AudioFormat], list[Waveform]] = {}
        self._free = budget
        self._too_long: set[AudioSource] = set()
        self._shared: dict[tuple[int, int], tuple[Any, bytes]] = {}
        self._keys: dict[bytes, str] = {}

    def dictionary_bytes(self, value: Any) -> bytes | None:
        """Return the bytes of an Arrow dictionary entry, extracted once for all its rows."""
        entries, number = value.dictionary, value.index.as_py()
        if number is None:
            return None
        key = entries.buffers()[-1].address, number
        if key not in self._shared:  # holding the dictionary keeps its address unique
            self._shared[key] = entries, entries[number].as_py()
        return self._shared[key][1]

    def source_key(self, source: AudioSource) -> str:
        """Return the path, or the digest of the bytes, computed once for rows that share them."""
        if isinstance(source, str):
            return source
        if source not in self._keys:
            self._keys[source] = blake2b(source, digest_size=16).hexdigest()
        return self._keys[source]

    def read(
        self, source: AudioSource, audio_format: AudioFormat, storage_options: StorageOptions | None
    ) -> Iterator[Waveform]:
        """Yield the blocks of a recording, from the cache if possible."""
        cached = self._blocks.get((source, audio_format))
        if cached is not None:
            yield from cached
            return
        native = self._blocks.get((source, NATIVE))
        if native is not None:
            samples = (wave.samples for wave in native)
            yield from self._cache_blocks(
                convert_blocks(samples, native[0].sample_rate, audio_format), source, audio_format
            )
            return
        lengths: list[float] = []
        blocks = decode_blocks(source, audio_format, storage_options, lengths.append)
        yield from self._cache_blocks(blocks, source, audio_format, lengths)

    def subset(self, sources: Iterable[AudioSource]) -> "DecodedCache":
        """Return the cache entries of some sources, so that the others can be freed."""
        kept_sources = set(sources)
        kept = DecodedCache(self._free)
        kept._too_long = self._too_long & kept_sources
        kept._shared = {key: one for key, one in self._shared.items() if one[1] in kept_sources}
        for (source, audio_format), blocks in self._blocks.items():
            if source in kept_sources:
                kept._blocks[source, audio_format] = blocks
            else:
                kept._free += _size(blocks)
        return kept

    def clear(self) -> None:
        self._blocks.clear()
        self._shared.clear()
        self._keys.clear()
        self._free = BUDGET

    def _cache_blocks(
        self,
        blocks: Iterable[Waveform],
        source: AudioSource,
        audio_format: AudioFormat,
        lengths: Sequence[float] = (),
    ) -> Iterator[Waveform]:
        """Yield the blocks and cache them. `lengths` has the seconds, if the header has them."""
        collected: list[Waveform] | None = [] if self._may_fit(source) else None
        size = 0
        for block in blocks:
            size += block.samples.nbytes
            expected = max(size, *(_bytes_of(seconds, block) for seconds in lengths), 0)
            if expected > self._free and collected is not None:
                collected = None
                self._too_long.add(source)
            if collected is not None:
                collected.append(block)
            yield block
        if collected is not None:
            self._blocks[source, audio_format] = collected
            self._free -= size

    def _may_fit(self, source: AudioSource) -> bool:
        """Return whether a source may fit: not too long before, and its file is not too large."""
        if source in self._too_long:
            return False
        path = local_path(source) if isinstance(source, str) else None
        try:
            return path is None or os.stat(path).st_size <= self._free
        except (OSError, ValueError):  # opening it reports the error
            return True


def _bytes_of(seconds: float, block: Waveform) -> float:
    return seconds * block.sample_rate * len(block.samples) * block.samples.itemsize


def _size(blocks: Iterable[Waveform]) -> int:
    return sum(block.samples.nbytes for block in blocks)
