"""Kernels: machine code that numba caches next to this file for later processes.

All kernels are in one file because numba checks only this file when it validates its cache. Results
equal those of the numpy code in `curator_dedup.fuzzy`.
"""

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar, cast

import numba
import numpy as np

F = TypeVar("F", bound=Callable[..., Any])
Array: TypeAlias = np.ndarray[Any, Any]

_ALONE, _UNKNOWN = 1 << 31, 0xFFFFFFFF
_A, _B = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_STEP = np.uint64(0x9E3779B97F4A7C15)
_BASE = np.uint64(0xD6E8FEB86659FD93)
_30, _27, _31, _32 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(32)
_HELD = 1024
"""Number of codes that are buffered before they are processed together."""


def _part(function: F) -> F:
    """Compile a helper of kernels. It creates no arrays, so reference counting is off."""
    options: Any = {"nogil": True, "error_model": "numpy", "_nrt": False}
    return cast(F, numba.njit(**options)(function))


def _maker(function: F) -> F:
    return cast(F, numba.njit(nogil=True)(function))


def _kernel(*signatures: str) -> Callable[[F], F]:
    options: Any = {"nogil": True, "error_model": "numpy", "cache": True}
    return cast(Callable[[F], F], numba.njit(list(signatures), **options))


@_part
def _mixed(value: Any) -> Any:
    value = (value ^ (value >> _30)) * _A
    value = (value ^ (value >> _27)) * _B
    return value ^ (value >> _31)


@_part
def _point_at(data: Array, place: int, lead: Any) -> tuple[Any, int]:
    """Decode the multi-byte character at `place`; return it and where the next one begins."""
    second = np.int64(data[place + 1]) & 0x3F
    if lead < 0xE0:
        return ((lead & 0x1F) << 6) | second, place + 2
    third = np.int64(data[place + 2]) & 0x3F
    if lead < 0xF0:
        return ((lead & 0x0F) << 12) | (second << 6) | third, place + 3
    fourth = np.int64(data[place + 3]) & 0x3F
    return ((lead & 0x07) << 18) | (second << 12) | (third << 6) | fourth, place + 4


@_part
def _put_codes(data: Array, span: tuple[int, int], table: Array, codes: Array) -> Any:
    """Write the codes of the next characters to `codes[1:]`; `codes[0]` is the preceding code.

    Return where to continue and the number of codes. A negative position is minus 1 minus a
    character whose page of the table is not filled yet.
    """
    place, end = span
    count = 1
    while place < end and count <= _HELD:
        point = np.int64(data[place])
        if point < 0x80:
            place += 1
        else:
            point, place = _point_at(data, place, point)
        code = table[point]
        if code == _UNKNOWN:
            return -1 - point, count
        if code == 0 or (code == 48 and codes[count - 1] == 48):
            continue
        codes[count] = code
        count += 1
    if place >= end:
        codes[count] = 32
        count += 1
    return place, count


@_part
def _lower(points: Array, count: int, orders: tuple[Array, Array], least: Array) -> None:
    """Lower the minhashes wherever one of these shingles has a smaller value."""
    factors, shifts = orders
    while count % 4:
        points[count] = points[0]
        count += 1
    for first in range(0, count, 4):
        one, two = points[first], points[first + 1]
        three, four = points[first + 2], points[first + 3]
        for place in range(len(least)):
            factor, shift = factors[place], shifts[place]
            lower = min(np.uint32(one * factor + shift), np.uint32(two * factor + shift))
            other = min(np.uint32(three * factor + shift), np.uint32(four * factor + shift))
            least[place] = min(least[place], min(lower, other))


@_part
def _take(points: Array, count: int, results: Any) -> None:
    """Lower the minhashes by some shingles, or store the shingles if there is a buffer for them."""
    orders, least, shingles, number = results
    if len(shingles) == 0:
        _lower(points, count, orders, least)
        return
    for place in range(count):
        shingles[number[0] + place] = points[place]
    number[0] += count


@_part
def _put_runs(words: Array, count: int, factors: Array, points: Array) -> int:
    """Write the hashes of all runs of words; return their number."""
    size = len(factors)
    for first in range(count - size + 1):
        total = np.uint64(0)
        for place in range(size):
            total += words[first + place] * factors[place]
        points[first] = np.uint32(_mixed(total) >> _32)
    return max(count - size + 1, 0)


@_part
def _keep_last(held: Array, count: int, most: int) -> int:
    """Keep the last `most` items, with which later runs begin."""
    kept = min(count, most)
    for place in range(kept):
        held[place] = held[count - kept + place]
    return kept


@_part
def _put_words(codes: Array, count: int, words: Array, number: int, begun: Array) -> int:
    """Write the words that end among these codes; `begun` holds the unfinished word."""
    made, power = begun[0], begun[1]
    for place in range(1, count):
        code, before = codes[place], codes[place - 1]
        is_alone = code >= _ALONE
        inside = before != 32 and before < _ALONE
        if inside and (code == 32 or is_alone):
            words[number] = _mixed(made)
            number, inside = number + 1, False
        if code == 32:
            continue
        if not inside:
            made, power = np.uint64(0), np.uint64(1)
        made += np.uint64(code) * power
        power *= _BASE
        if is_alone:
            words[number] = _mixed(made)
            number += 1
    begun[0], begun[1] = made, power
    return number


@_part
def _of_words(
    data: Array, span: tuple[int, int], letters: tuple[Array, Array],
    held: Any, results: Any,
) -> Any:  # fmt: skip
    """Return the number of words; if negative, the same as `_put_codes` returns."""
    table, factors = letters
    codes, words, points, begun, _ = held
    place, end = span
    number = total = 0
    codes[0] = 32
    while place < end:
        place, count = _put_codes(data, (place, end), table, codes)
        if place < 0:
            return place
        before = number
        number = _put_words(codes, count, words, number, begun)
        total += number - before
        codes[0] = codes[count - 1]
        _take(points, _put_runs(words, number, factors, points), results)
        if place < end:
            number = _keep_last(words, number, len(factors) - 1)
    if 0 < total < len(factors):
        _put_runs(words, total, factors[:total], points)
        _take(points, 1, results)
    return total


@_maker
def _buffers(run: int) -> Any:
    """Allocate buffers: codes; words or characters, for runs of `run`; shingles; the state of an
    unfinished word; the number of shingles stored."""
    size = _HELD + run + 4
    words, points = np.empty(size, np.uint64), np.empty(size + 4, np.uint32)
    begun, number = np.zeros(2, np.uint64), np.zeros(1, np.int64)
    return np.empty(_HELD + 2, np.uint32), words, points, begun, number


_DATA = "uint8[::1], int64[::1], int64[::1]"
_RESULTS = "UniTuple(uint32[::1], 2), uint32[:, ::1], uint32[::1], int64[::1]"


@_kernel(f"int64({_DATA}, int64, uint32[::1], uint64[::1], {_RESULTS})")
def sign_words(  # noqa: PLR0913 - kernels have no objects to carry them
    data: Array,
    starts: Array,
    ends: Array,
    first: int,
    table: Array,
    factors: Array,
    orders: tuple[Array, Array],
    minhashes: Array,
    shingles: Array,
    counts: Array,
) -> int:
    """Compute minhashes or shingles of the texts from `first` on, and the shingles per text.

    With minhashes, `counts` only says whether a text has any shingles. Stops at a character whose
    page of the table is missing and returns text and page as one number; negative when all is done.
    """
    held = _buffers(len(factors))
    number = held[4]
    number[0] = counts[:first].sum()
    for row in range(first, len(starts)):
        span = (starts[row], ends[row])
        before = number[0]
        results = (orders, minhashes[row], shingles, number)
        words = _of_words(data, span, (table, factors), held, results)
        if words < 0:
            missing: int = row * 8192 + (-1 - words) // 256
            return missing
        counts[row] = number[0] - before if len(shingles) else words
    return -1


@_part
def _put_windows(codes: Array, count: int, length: int, points: Array) -> int:
    """Write the hashes of all runs of `length` codes; return their number."""
    if count < length:
        return 0
    total, power, inverse = np.uint64(0), np.uint64(1), np.uint64(1)
    highest = power
    for place in range(length):
        highest = power
        total += codes[place] * power
        power *= _BASE
    for _ in range(6):  # Newton's iteration for the inverse of an odd number
        inverse *= np.uint64(2) - _BASE * inverse
    points[0] = np.uint32(_mixed(total) >> _32)
    for last in range(length, count):
        total = (total - codes[last - length]) * inverse + codes[last] * highest
        points[last - length + 1] = np.uint32(_mixed(total) >> _32)
    return count - length + 1


@_part
def _put_characters(codes: Array, count: int, characters: Array, number: int) -> int:
    """Write the codes without leading spaces, and with each run of spaces reduced to one."""
    for place in range(1, count):
        if codes[place] != 32 or codes[place - 1] != 32:
            characters[number] = np.uint64(codes[place] & np.uint32(_ALONE - 1))
            number += 1
    return number


@_part
def _of_characters(
    data: Array, span: tuple[int, int], letters: tuple[Array, int],
    held: Any, results: Any,
) -> Any:  # fmt: skip
    """Return the number of characters, counting one space after each word."""
    table, length = letters
    codes, characters, points, _, _ = held
    place, end = span
    number = total = 0
    codes[0] = 32
    while place < end:
        place, count = _put_codes(data, (place, end), table, codes)
        if place < 0:
            return place
        before = number
        number = _put_characters(codes, count, characters, number)
        total += number - before
        codes[0] = codes[count - 1]
        _take(points, _put_windows(characters, number, length, points), results)
        if place < end:
            number = _keep_last(characters, number, length - 1)
    if 0 < total < length:
        _take(points, _put_windows(characters, total, total, points), results)
    return total


@_kernel(f"int64({_DATA}, int64, uint32[::1], int64, {_RESULTS})")
def sign_characters(  # noqa: PLR0913 - kernels have no objects to carry them
    data: Array,
    starts: Array,
    ends: Array,
    first: int,
    table: Array,
    length: int,
    orders: tuple[Array, Array],
    minhashes: Array,
    shingles: Array,
    counts: Array,
) -> int:
    """The same as `sign_words` for runs of `length` characters."""
    held = _buffers(length)
    number = held[4]
    number[0] = counts[:first].sum()
    for row in range(first, len(starts)):
        span = (starts[row], ends[row])
        before = number[0]
        results = (orders, minhashes[row], shingles, number)
        found = _of_characters(data, span, (table, length), held, results)
        if found < 0:
            missing: int = row * 8192 + (-1 - found) // 256
            return missing
        counts[row] = number[0] - before if len(shingles) else found
    return -1


@_kernel("void(uint32[:, ::1], int64, uint64[:, ::1])")
def make_keys(minhashes: Array, rows: int, keys: Array) -> None:
    """Hash the minhashes of each band to one number."""
    for document in range(len(minhashes)):
        for band in range(keys.shape[1]):
            key = np.uint64(band + 1)
            for place in range(band * rows, (band + 1) * rows):
                key = _mixed((key ^ np.uint64(minhashes[document, place])) * _STEP)
            keys[document, band] = key
