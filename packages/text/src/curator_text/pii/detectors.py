"""Detectors of personal data: one function per kind, all in linear time."""

import re
from bisect import bisect_left, insort
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Literal, NamedTuple, TypeAlias

PiiKind: TypeAlias = Literal["email", "ip", "phone", "credit_card", "iban"]


class PiiSpan(NamedTuple):
    """A match: its kind, and the characters from `start` up to `end`."""

    kind: PiiKind
    start: int
    end: int


# All repetition is bounded to prevent backtracking. Letters of languages written without spaces are
# not part of a name, because they belong to the surrounding text.
_LETTERS = "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u0370-\u052f"
_NAME = rf"{_LETTERS}0-9!#$%&'*+/=?^_`{{|}}~\-"
_EMAIL = re.compile(
    rf"(?<![{_NAME}])[{_NAME}][{_NAME}.]{{0,63}}@"
    r"(?:(?:[^\W_](?:[\w-]{0,61}[^\W_])?\.){1,8}"
    r"(?:[A-Za-z]{2,24}|xn--[A-Za-z0-9-]{2,59}|[\u0370-\u1fff]{2,24}(?!\w))(?![A-Za-z0-9@-])"
    r"|\[[0-9]{1,3}(?:\.[0-9]{1,3}){3}\])"
)
_ELLIPSIS = "..."
_IPV4 = re.compile(r"(?<![0-9.])(?<![vV])[0-9]{1,3}(?:\.[0-9]{1,3}){3}(?!\.?[0-9])")
_SHORTEST_TOUCHING = len("10.0.2.15")
"""Shorter addresses that touch letters are mostly versions: `rc1.0.0.1`, `1.2.3.4b`."""
_IPV6 = re.compile(
    r"(?<![\w:.])(?:[0-9A-Fa-f]{0,4}:){2,7}"
    r"(?:[0-9]{1,3}(?:\.[0-9]{1,3}){3}|[0-9A-Fa-f]{1,4}|(?<=::))(?![\w:]|\.[0-9])",
    re.ASCII,
)
_PHONE = re.compile(
    r"(?<![\w+.@/=-])"
    r"(?:(?:\+|00 ?)[1-9][0-9]{0,2}[ .-]?(?:\(0?[0-9]{1,4}\)[ .-]?)?[0-9]{1,12}"
    r"(?:[ ./-][0-9]{2,8}){0,5}"
    r"|(?:1[ .-])?(?:\([2-9][0-9]{2}\) ?|[2-9][0-9]{2}[ .-])[2-9][0-9]{2}[ .-][0-9]{4})"
    r"(?![\w@]|[.-][0-9])",
    re.ASCII,
)
_WORD = re.compile(r"\w", re.ASCII)
_RUN_OF_DIGITS = re.compile(r"(?<![\w.])[0-9]+(?:[ -][0-9]+)*(?!\w)", re.ASCII)
_DIGITS = re.compile(r"[0-9]+")
_IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Z]{2}[0-9]{2}(?=[ A-Z0-9])")

_LONGEST_PHONE = 17
"""15 digits with the country code, and the zeros before it."""

_CARD_GROUPS = ((4, 4, 4, 4, 3), (4, 4, 4, 4), (4, 6, 5), (4, 6, 4), (4, 4, 4, 1))
_SHORTEST_CARD, _LONGEST_CARD = 13, 19


def find_emails(text: str) -> Iterator[tuple[int, int]]:
    """Find email addresses, including malformed ones (`a..b@c.org`) and ones in other scripts."""
    if "@" in text:
        for found in _EMAIL.finditer(text):
            local = found[0].partition("@")[0]
            if not local.endswith("."):
                start, end = found.span()
                before = local.rfind(_ELLIPSIS)  # an ellipsis ends the text before the address
                yield (start if before < 0 else start + before + len(_ELLIPSIS)), end


def find_ips(text: str, public_only: bool = False) -> Iterator[tuple[int, int]]:
    """Find IPv4 and IPv6 addresses. `a::b`, without a digit, is an identifier in code."""
    patterns = [pattern for sign, pattern in ((":", _IPV6), (".", _IPV4)) if sign in text]
    for pattern in patterns:
        for found in pattern.finditer(text):
            address = _parse_address(found[0])
            if address is None or (public_only and not address.is_global):
                continue
            if pattern is not _IPV4 or _is_apart(text, *found.span()):
                yield found.span()


def _is_apart(text: str, start: int, end: int) -> bool:
    """Return whether an address touches no letters, or is too long for a version number."""
    touches = _WORD.match(text, max(0, start - 1), start) or _WORD.match(text, end)
    return end - start >= _SHORTEST_TOUCHING or touches is None


def _parse_address(text: str) -> IPv4Address | IPv6Address | None:
    if not any(map(str.isdigit, text)):
        return None
    try:
        return ip_address(text)
    except ValueError:
        return None


def find_phones(text: str) -> Iterator[tuple[int, int]]:
    """Find numbers with a country code (+44 …, 0044 …), and North American ones with area code."""
    index = 0
    while found := _PHONE.search(text, index):
        start, end = found.start(), _end_of_phone(text, *found.span())
        index = max(end, start + 1)
        if sum(map(str.isdigit, text[start:end])) >= 8:
            yield start, end


def _end_of_phone(text: str, start: int, end: int) -> int:
    """Return the end of the number. Digits beyond the maximum length belong to the next number."""
    while sum(map(str.isdigit, text[start:end])) > _LONGEST_PHONE:
        end = max(text.rfind(sign, start, end) for sign in " ./-")
    return max(end, start)


def find_cards(text: str) -> Iterator[tuple[int, int]]:
    """Find card numbers, written without separators or grouped as on cards."""
    for run in _RUN_OF_DIGITS.finditer(text):
        if run.end() - run.start() >= _SHORTEST_CARD:
            groups = [digits.span() for digits in _DIGITS.finditer(text, *run.span())]
            yield from _find_cards_in_run(text, groups)


def _find_cards_in_run(text: str, groups: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    sizes = [end - start for start, end in groups]
    first = 0
    while first < len(groups):
        used = _count_card_groups(text, groups, sizes, first)
        if used:
            yield groups[first][0], groups[first + used - 1][1]
        first += used or 1


def _count_card_groups(
    text: str, groups: Sequence[tuple[int, int]], sizes: Sequence[int], first: int
) -> int:
    """Return how many groups form a card number from this one on; 0 if none do."""
    if sizes[first] != 4:
        start, end = groups[first]
        alone = _SHORTEST_CARD <= sizes[first] <= _LONGEST_CARD
        return int(alone and is_card(text[start:end]))
    for shape in _CARD_GROUPS:
        last = first + len(shape)
        if tuple(sizes[first:last]) == shape:
            parts = [text[start:end] for start, end in groups[first:last]]
            separators = {text[end] for _, end in groups[first : last - 1]}
            if len(separators) == 1 and is_card("".join(parts)):
                return len(shape)
    return 0


def find_ibans(text: str) -> Iterator[tuple[int, int]]:
    """Find IBANs, written without separators or in groups."""
    for found in _IBAN.finditer(text):
        shape = _iban_pattern(found[0][:2])
        whole = shape.match(text, found.start()) if shape else None
        if whole and is_iban(whole[0].replace(" ", "")):
            yield whole.span()


@cache
def _iban_pattern(country: str) -> re.Pattern[str] | None:
    """Return a pattern for a country's IBANs, with optional single spaces."""
    length = IBAN_LENGTHS.get(country)
    if length is None:
        return None
    return re.compile(rf"[A-Z0-9](?: ?[A-Z0-9]){{{length - 1}}}(?![A-Za-z0-9])")


FINDERS: dict[PiiKind, Callable[[str], Iterator[tuple[int, int]]]] = {
    "iban": find_ibans,
    "credit_card": find_cards,
    "email": find_emails,
    "ip": find_ips,
    "phone": find_phones,
}
"""Kinds with check digits first: where two kinds overlap, the first one wins."""


ALL_KINDS: tuple[PiiKind, ...] = tuple(FINDERS)


def find_pii(
    text: str, kinds: Sequence[PiiKind] = ALL_KINDS, public_ips_only: bool = False
) -> list[PiiSpan]:
    """Return the matches of these kinds, in text order and without overlaps."""
    found: list[tuple[int, int, PiiKind]] = []
    for kind, finder in FINDERS.items():
        if kind not in kinds:
            continue
        finder = partial(find_ips, public_only=public_ips_only) if kind == "ip" else finder
        for start, end in finder(text):
            if not _overlaps(found, start, end):
                insort(found, (start, end, kind))
    return [PiiSpan(kind, start, end) for start, end, kind in found]


def _overlaps(found: Sequence[tuple[int, int, PiiKind]], start: int, end: int) -> bool:
    """Return whether the range overlaps any of the sorted, non-overlapping matches."""
    index = bisect_left(found, (start,))
    before = index > 0 and found[index - 1][1] > start
    return before or (index < len(found) and found[index][0] < end)


IBAN_LENGTHS = {
    "AD": 24, "AE": 23, "AL": 28, "AT": 20, "AZ": 28, "BA": 20, "BE": 16, "BG": 22, "BH": 22,
    "BR": 29, "BY": 28, "CH": 21, "CR": 22, "CY": 28, "CZ": 24, "DE": 22, "DK": 18, "DO": 28,
    "EE": 20, "EG": 29, "ES": 24, "FI": 18, "FO": 18, "FR": 27, "GB": 22, "GE": 22, "GI": 23,
    "GL": 18, "GR": 27, "GT": 28, "HR": 21, "HU": 28, "IE": 22, "IL": 23, "IQ": 23, "IS": 26,
    "IT": 27, "JO": 30, "KW": 30, "KZ": 20, "LB": 28, "LC": 32, "LI": 21, "LT": 20, "LU": 20,
    "LV": 21, "LY": 25, "MC": 27, "MD": 24, "ME": 22, "MK": 19, "MR": 27, "MT": 31, "MU": 30,
    "NL": 18, "NO": 15, "PK": 24, "PL": 28, "PS": 29, "PT": 25, "QA": 29, "RO": 24, "RS": 22,
    "SA": 24, "SC": 31, "SE": 24, "SI": 19, "SK": 24, "SM": 27, "ST": 25, "SV": 28, "TL": 23,
    "TN": 24, "TR": 26, "UA": 29, "VA": 22, "VG": 24, "XK": 20,
}  # fmt: skip
"""Length of an IBAN in each country of the registry."""

_CARDS = (
    (4000, 4999, (13, 16, 19)),
    (5100, 5599, (16,)),
    (3400, 3499, (15,)),
    (3700, 3799, (15,)),
    (2221, 2720, (16,)),
    (6011, 6011, (16, 19)),
    (6440, 6599, (16, 19)),
    (6200, 6299, (16, 17, 18, 19)),
    (8100, 8199, (16, 17, 18, 19)),
    (3528, 3589, (16, 17, 18, 19)),
    (3000, 3059, (14, 16, 19)),
    (3600, 3699, (14, 16, 19)),
    (3800, 3999, (14, 16, 19)),
)
"""First and last four-digit prefix of each card type, and its valid lengths."""

_DOUBLED = {str(digit): digit * 2 - 9 * (digit > 4) for digit in range(10)}


def is_luhn(digits: str) -> bool:
    """Return whether the last digit is a valid Luhn check digit."""
    plain = sum(map(int, digits[::-2]))
    return (plain + sum(_DOUBLED[digit] for digit in digits[-2::-2])) % 10 == 0


def is_card(digits: str) -> bool:
    """Return whether a card can have this number, by prefix, length and check digit."""
    start, length = int(digits[:4]), len(digits)
    known = any(first <= start <= last and length in lengths for first, last, lengths in _CARDS)
    return known and is_luhn(digits)


def is_iban(compact: str) -> bool:
    """Return whether the length and checksum are valid. Expects digits and capitals only."""
    if len(compact) != IBAN_LENGTHS.get(compact[:2]):
        return False
    return int("".join(str(int(sign, 36)) for sign in compact[4:] + compact[:4])) % 97 == 1
