"""Blocks: count repeated lines and paragraphs."""

import numpy as np

from curator_text.compiled.kernels import Array, kernel, part
from curator_text.compiled.utf8 import characters_in, count_bytes, hash_of, is_same, without_spaces

BLOCKS, REPEATED, REPEATED_CHARS, BLOCK_CHARS = range(4)
"""Counts: blocks; repeats of earlier blocks and their characters; the characters of all blocks."""
WIDTH = 4

FULL_LINES, PARAGRAPHS, LINES_APART, PARAGRAPHS_APART = range(4)
"""Kinds: non-blank lines; blocks separated by two line breaks; by one or more; by two or more."""


@kernel
def fill_blocks(
    data: Array, starts: Array, ends: Array, rows: Array, kind: int, out: Array
) -> None:
    spans = np.empty((256, 2), np.int64)
    hashes = np.empty(256, np.uint64)
    known = np.zeros((1024, 2), np.int64)  # per slot: visit, block
    for visit, row in enumerate(rows):
        start, end = starts[row], ends[row]
        most = count_bytes(data, start, end, 10) + 1
        if most > len(spans):
            spans = np.empty((2 * most, 2), np.int64)
            hashes = np.empty(2 * most, np.uint64)
        count = _split(data, start, end, kind, spans)
        if 2 * count > len(known):
            known = np.zeros((_power_above(2 * count), 2), np.int64)
        if count > 1:
            _count_repeated(data, spans[:count], hashes, known, visit + 1, out[row])
        out[row, BLOCKS] = count
        for place in range(count):
            out[row, BLOCK_CHARS] += characters_in(data, spans[place, 0], spans[place, 1])


@part
def _power_above(least: int) -> int:
    power = 1024
    while power < least:
        power *= 2
    return power


@part
def _count_repeated(
    data: Array, spans: Array, hashes: Array, known: Array, visit: int, counts: Array
) -> None:
    mask = np.uint64(len(known) - 1)
    for place in range(len(spans)):
        start, end = spans[place, 0], spans[place, 1]
        made = hash_of(data, start, end)
        hashes[place] = made
        slot = np.int64(made & mask)
        while known[slot, 0] == visit:
            other = known[slot, 1]
            begin = spans[other, 0]
            if (
                hashes[other] == made
                and spans[other, 1] - begin == end - start
                and is_same(data, begin, start, end - start)
            ):
                counts[REPEATED] += 1
                counts[REPEATED_CHARS] += characters_in(data, start, end)
                break
            slot = (slot + 1) & np.int64(mask)
        else:
            known[slot, 0] = visit
            known[slot, 1] = place


@part
def _add_span(spans: Array, count: int, start: int, end: int) -> int:
    spans[count, 0] = start
    spans[count, 1] = end
    return count + 1


@part
def _split(data: Array, start: int, end: int, kind: int, spans: Array) -> int:
    """Write the blocks of this kind into `spans` and return their number."""
    if kind == FULL_LINES:
        return _full_lines(data, start, end, spans)
    if kind == PARAGRAPHS:
        return _paragraphs(data, start, end, spans)
    if kind == PARAGRAPHS_APART:
        if _has_empty_line(data, start, end):
            start, end = without_spaces(data, start, end)
        return _apart(data, start, end, 2, spans)
    return _apart(data, start, end, 1, spans)


@part
def _full_lines(data: Array, start: int, end: int, spans: Array) -> int:
    count = 0
    while start <= end:
        stop = start
        while stop < end and data[stop] != 10:
            stop += 1
        first, last = without_spaces(data, start, stop)
        if first < last:
            count = _add_span(spans, count, start, stop)
        start = stop + 1
    return count


@part
def _paragraphs(data: Array, start: int, end: int, spans: Array) -> int:
    count, place = 0, start
    while place + 1 < end:
        if data[place] == 10 and data[place + 1] == 10:
            count = _add_span(spans, count, start, place)
            start = place = place + 2
        else:
            place += 1
    return _add_span(spans, count, start, end)


@part
def _has_empty_line(data: Array, start: int, end: int) -> bool:
    for place in range(start, end - 1):
        if data[place] == 10 and data[place + 1] == 10:
            return True
    return False


@part
def _apart(data: Array, start: int, end: int, fewest: int, spans: Array) -> int:
    """Split at `fewest` or more line breaks; the first and last block may be empty."""
    count, place = 0, start
    while place < end:
        if data[place] != 10:
            place += 1
            continue
        behind = place
        while behind < end and data[behind] == 10:
            behind += 1
        if behind - place >= fewest:
            count = _add_span(spans, count, start, place)
            start = behind
        place = behind
    return _add_span(spans, count, start, end)
