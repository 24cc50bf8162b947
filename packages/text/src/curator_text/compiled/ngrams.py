"""N-grams: how much of a text consists of word n-grams that it repeats.

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

WORDS, CHARS, TIMES, TOP_START, TOP_END, OVERLAPPING, APART = range(7)
"""Counts: words; characters of the most frequent run, without spaces; how often it occurs; the
bytes where it first begins and ends; characters in repeated runs, each once; the same for runs that
do not overlap."""
WIDTH = 7


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
def _new_scratch(words: int) -> Scratch:
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
def fill_ngrams(
    data: Array, starts: Array, ends: Array, rows: Array, lengths: Array, out: Array
) -> None:
    """Measure runs of these lengths, which must be rising."""
    scratch = _new_scratch(1)
    visit = 0
    for row in rows:
        start, end = starts[row], ends[row]
        most = _most_words(data, start, end)
        if most > len(scratch.sizes):
            scratch = _new_scratch(most)
            visit = 0
        words = _split(data, start, end, scratch)
        visit += 1
        left = _number_words(data, words, scratch, visit)
        length = 1
        for place in range(len(lengths)):
            while length < lengths[place] and left > 0:
                length += 1
                visit += 1
                left = _lengthen(left, scratch, visit)
            visit += 1
            _measure(words, left, lengths[place], scratch, visit, out[row, place])


@part
def _most_words(data: Array, start: int, end: int) -> int:
    """Return an upper bound for the number of words: bytes that can begin white space, plus one."""
    found = 1
    for place in range(start, end):
        byte = data[place]
        found += (byte <= 32) | (byte == 0xC2) | ((byte >= 0xE1) & (byte <= 0xE3))
    return found


@part
def _split(data: Array, start: int, end: int, scratch: Scratch) -> int:
    """Store the words and return their number."""
    words = 0
    while start < end:
        width = space_at(data, start)
        if width:
            start += width
            continue
        begin = start
        start = _word_end(data, start, end)
        scratch.spans[words, 0], scratch.spans[words, 1] = begin, start
        scratch.sizes[words] = characters_in(data, begin, start)
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
def _number_words(data: Array, words: int, scratch: Scratch, visit: int) -> int:
    """Store the repeated words in `places` and `firsts`, and return their number."""
    mask = _mask(words)
    for word in range(words):
        start, end = scratch.spans[word, 0], scratch.spans[word, 1]
        key = hash_of(data, start, end)
        slot = np.int64(key) & mask
        first = word
        while scratch.slots[slot, 0] == visit:
            other = scratch.slots[slot, 1]
            begin = scratch.spans[other, 0]
            if (
                scratch.keys[slot] == key
                and scratch.spans[other, 1] - begin == end - start
                and is_same(data, begin, start, end - start)
            ):
                first = other
                break
            slot = (slot + 1) & mask
        else:
            scratch.keys[slot] = key
            scratch.slots[slot, 0], scratch.slots[slot, 1] = visit, word
            scratch.times[word] = 0
        scratch.places[word], scratch.firsts[word] = word, first
        scratch.times[first] += 1
    return _keep_repeated(words, scratch)


@part
def _keep_repeated(runs: int, scratch: Scratch) -> int:
    left = 0
    for run in range(runs):
        if scratch.times[scratch.firsts[run]] > 1:
            scratch.places[left] = scratch.places[run]
            scratch.firsts[left] = scratch.firsts[run]
            left += 1
    return left


@part
def _lengthen(runs: int, scratch: Scratch, visit: int) -> int:
    """Combine adjacent runs into longer ones, identified by the numbers of both."""
    mask = _mask(runs)
    found = 0
    for run in range(runs - 1):
        place = scratch.places[run]
        if scratch.places[run + 1] != place + 1:
            continue
        key = (np.uint64(scratch.firsts[run]) << np.uint64(32)) | np.uint64(scratch.firsts[run + 1])
        slot = np.int64(mixed(key)) & mask
        first = place
        while scratch.slots[slot, 0] == visit:
            if scratch.keys[slot] == key:
                first = scratch.slots[slot, 1]
                break
            slot = (slot + 1) & mask
        else:
            scratch.keys[slot] = key
            scratch.slots[slot, 0], scratch.slots[slot, 1] = visit, place
            scratch.times[place] = 0
        scratch.times[first] += 1
        scratch.places[found], scratch.firsts[found] = place, first
        found += 1
    return _keep_repeated(found, scratch)


@part
def _top(runs: int, scratch: Scratch) -> int:
    """Return where the most frequent run first begins; ties go to the earliest."""
    top, most = 0, 1
    for run in range(runs):
        place = scratch.places[run]
        if scratch.firsts[run] == place and scratch.times[place] > most:
            top, most = place, scratch.times[place]
    return top


@part
def _measure(words: int, runs: int, length: int, scratch: Scratch, visit: int, out: Array) -> None:
    out[WORDS] = words
    if words < length:
        return
    top = _top(runs, scratch)
    out[TIMES] = scratch.times[top] if runs > 0 else 1
    out[TOP_START], out[TOP_END] = scratch.spans[top, 0], scratch.spans[top + length - 1, 1]
    for word in range(top, top + length):
        out[CHARS] += scratch.sizes[word]
    if runs > 0:
        out[OVERLAPPING] = _overlapping(runs, length, scratch)
        out[APART] = _apart(runs, length, scratch, visit)


@part
def _overlapping(runs: int, length: int, scratch: Scratch) -> int:
    """Count characters in repeats of earlier runs, with single spaces inside, each once."""
    total, end = 0, 0
    for run in range(runs):
        place = scratch.places[run]
        if scratch.firsts[run] == place:
            continue
        fresh = max(place, end)
        end = place + length
        for word in range(fresh, end):
            total += scratch.sizes[word]
        total += min(end - fresh, length - 1)
    return total


@part
def _apart(runs: int, length: int, scratch: Scratch, visit: int) -> int:
    """Count characters in repeats of earlier runs that do not overlap each other."""
    total, end = 0, 0
    for run in range(runs):
        place, first = scratch.places[run], scratch.firsts[run]
        if place < end:
            continue
        if scratch.seen[first] != visit:
            scratch.seen[first] = visit
            continue
        end = place + length
        for word in range(place, end):
            total += scratch.sizes[word]
    return total
