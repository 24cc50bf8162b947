"""Runs: how much of a text consists of word n-grams that it repeats.

Each distinct word has a number; words are compared byte by byte. A run of n words is identified by
the numbers of its two runs of n-1 words, so a hash collision cannot change the result.
"""

from typing import NamedTuple

import numpy as np

from curator_text.compiled.kernels import Array, kernel, maker, part
from curator_text.compiled.utf8 import (
    MAYBE_SPACES,
    characters_in,
    hash_of,
    is_same,
    mixed,
    space_at,
)

WORDS, LETTERS, TIMES, COUNTED, OVERLAPPING, APART = range(6)
"""Counts: words; characters of the most frequent run, without spaces; how often it occurs as words,
and as a string (-1 if the search would take too long); characters in repeated runs, each once; the
same for runs that do not overlap."""
WIDTH = 6

_PATIENCE = 32
"""Maximum comparisons per byte in the search for a string."""


class Scratch(NamedTuple):
    """Arrays with one entry per word of the longest text so far."""

    spans: Array
    """Where each word begins and ends."""
    sizes: Array
    """The number of characters of each word."""
    places: Array
    """Where repeated runs begin, in order."""
    firsts: Array
    """For each repeated run, where the same run first began."""
    times: Array
    """How often the run that first began here occurs."""
    seen: Array
    """The round in which this run was marked as seen."""
    keys: Array
    """A hash table: the key of each run."""
    slots: Array
    """The hash table's slots: the round that filled the slot, and where the run begins."""


@maker
def _scratch(words: int) -> Scratch:
    size = 1024
    while size < 2 * words:
        size *= 2
    half = size // 2
    return Scratch(
        np.empty((half, 2), np.int64),
        np.empty(half, np.int64),
        np.empty(half, np.int64),
        np.empty(half, np.int64),
        np.empty(half, np.int64),
        np.zeros(half, np.int64),
        np.empty(size, np.uint64),
        np.zeros((size, 2), np.int64),
    )


@kernel
def fill_runs(
    data: Array, starts: Array, ends: Array, rows: Array, wanted: tuple[Array, Array], out: Array
) -> None:
    """Measure runs of the wanted lengths (rising), and count the top run's string if `counted`."""
    lengths, counted = wanted
    made = _scratch(1)
    visit = 0
    for row in rows:
        start, end = starts[row], ends[row]
        most = _most_words(data, start, end)
        if most > len(made.sizes):
            made = _scratch(most)
            visit = 0
        words = _split(data, start, end, made)
        visit += 1
        left = _number_words(data, words, made, visit)
        length = 1
        for place in range(len(lengths)):
            while length < lengths[place] and left > 0:
                length += 1
                visit += 1
                left = _lengthen(left, made, visit)
            visit += 1
            _measure(words, left, lengths[place], made, visit, out[row, place])
            if counted[place] and words >= lengths[place]:
                top = _top(left, made)
                out[row, place, COUNTED] = _occurrences(data, start, end, top, lengths[place], made)


@part
def _most_words(data: Array, start: int, end: int) -> int:
    """Return an upper bound for the number of words: bytes that can begin white space, plus one."""
    found = 1
    for place in range(start, end):
        byte = data[place]
        found += (byte <= 32) | (byte == 0xC2) | ((byte >= 0xE1) & (byte <= 0xE3))
    return found


@part
def _split(data: Array, start: int, end: int, made: Scratch) -> int:
    """Store the words and return their number."""
    words = 0
    while start < end:
        width = space_at(data, start)
        if width:
            start += width
            continue
        begin = start
        start = _word_end(data, start, end)
        made.spans[words, 0], made.spans[words, 1] = begin, start
        made.sizes[words] = characters_in(data, begin, start)
        words += 1
    return words


@part
def _word_end(data: Array, place: int, end: int) -> int:
    while place < end:
        if MAYBE_SPACES[data[place]] and space_at(data, place):
            break
        place += 1
    return place


@part
def _mask(runs: int) -> int:
    """Use only part of the hash table, so that it stays in the processor's cache."""
    size = 64
    while size < 2 * runs:
        size *= 2
    return size - 1


@part
def _number_words(data: Array, words: int, made: Scratch, visit: int) -> int:
    """Store the repeated words in `places` and `firsts`, and return their number."""
    mask = _mask(words)
    for word in range(words):
        start, end = made.spans[word, 0], made.spans[word, 1]
        key = hash_of(data, start, end)
        slot = np.int64(key) & mask
        first = word
        while made.slots[slot, 0] == visit:
            other = made.slots[slot, 1]
            begin = made.spans[other, 0]
            if (
                made.keys[slot] == key
                and made.spans[other, 1] - begin == end - start
                and is_same(data, begin, start, end - start)
            ):
                first = other
                break
            slot = (slot + 1) & mask
        else:
            made.keys[slot] = key
            made.slots[slot, 0], made.slots[slot, 1] = visit, word
            made.times[word] = 0
        made.places[word], made.firsts[word] = word, first
        made.times[first] += 1
    return _keep_repeated(words, made)


@part
def _keep_repeated(runs: int, made: Scratch) -> int:
    left = 0
    for run in range(runs):
        if made.times[made.firsts[run]] > 1:
            made.places[left] = made.places[run]
            made.firsts[left] = made.firsts[run]
            left += 1
    return left


@part
def _lengthen(runs: int, made: Scratch, visit: int) -> int:
    """Combine adjacent runs into longer ones, identified by the numbers of both."""
    mask = _mask(runs)
    found = 0
    for run in range(runs - 1):
        place = made.places[run]
        if made.places[run + 1] != place + 1:
            continue
        key = (np.uint64(made.firsts[run]) << np.uint64(32)) | np.uint64(made.firsts[run + 1])
        slot = np.int64(mixed(key)) & mask
        first = place
        while made.slots[slot, 0] == visit:
            if made.keys[slot] == key:
                first = made.slots[slot, 1]
                break
            slot = (slot + 1) & mask
        else:
            made.keys[slot] = key
            made.slots[slot, 0], made.slots[slot, 1] = visit, place
            made.times[place] = 0
        made.times[first] += 1
        made.places[found], made.firsts[found] = place, first
        found += 1
    return _keep_repeated(found, made)


@part
def _top(runs: int, made: Scratch) -> int:
    """Return where the most frequent run first begins; ties go to the earliest."""
    top, most = 0, 1
    for run in range(runs):
        place = made.places[run]
        if made.firsts[run] == place and made.times[place] > most:
            top, most = place, made.times[place]
    return top


@part
def _measure(words: int, runs: int, length: int, made: Scratch, visit: int, out: Array) -> None:
    out[WORDS] = words
    if words < length:
        return
    top = _top(runs, made)
    out[TIMES] = made.times[top] if runs > 0 else 1
    for word in range(top, top + length):
        out[LETTERS] += made.sizes[word]
    if runs > 0:
        out[OVERLAPPING] = _overlapping(runs, length, made)
        out[APART] = _apart(runs, length, made, visit)


@part
def _overlapping(runs: int, length: int, made: Scratch) -> int:
    """Count characters in repeats of earlier runs, with single spaces inside, each once."""
    letters, behind = 0, 0
    for run in range(runs):
        place = made.places[run]
        if made.firsts[run] == place:
            continue
        fresh = max(place, behind)
        behind = place + length
        for word in range(fresh, behind):
            letters += made.sizes[word]
        letters += min(behind - fresh, length - 1)
    return letters


@part
def _apart(runs: int, length: int, made: Scratch, visit: int) -> int:
    """Count characters in repeats of earlier runs that do not overlap each other."""
    letters, behind = 0, 0
    for run in range(runs):
        place, first = made.places[run], made.firsts[run]
        if place < behind:
            continue
        if made.seen[first] != visit:
            made.seen[first] = visit
            continue
        behind = place + length
        for word in range(place, behind):
            letters += made.sizes[word]
    return letters


@part
def _occurrences(data: Array, start: int, end: int, top: int, length: int, made: Scratch) -> int:
    """Count occurrences of the run as a string with single spaces, without overlaps."""
    size = length - 1
    for word in range(top, top + length):
        size += made.spans[word, 1] - made.spans[word, 0]
    budget = _PATIENCE * (end - start) + 4096
    found, place = 0, start
    first = data[made.spans[top, 0]]
    while place + size <= end:
        if data[place] != first:
            place += 1
            continue
        same = _same_bytes(data, place, top, length, made)
        budget -= same
        if budget < 0:
            return -1
        found += same == size
        place += size if same == size else 1
    return found


@part
def _same_bytes(data: Array, place: int, top: int, length: int, made: Scratch) -> int:
    """Count the bytes from here that match the run with single spaces."""
    same = 0
    for word in range(top, top + length):
        if word > top:
            if data[place + same] != 32:
                return same
            same += 1
        begin = made.spans[word, 0]
        for step in range(made.spans[word, 1] - begin):
            if data[place + same] != data[begin + step]:
                return same
            same += 1
    return same
