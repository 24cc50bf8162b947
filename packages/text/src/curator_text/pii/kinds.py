"""Kinds of personal data: one finder function each, all in linear time."""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Literal, NamedTuple, TypeAlias

from curator_text.pii.check_digits import IBAN_LENGTHS, is_card, is_iban

Kind: TypeAlias = Literal["email", "ip", "phone", "credit_card", "iban"]


class Span(NamedTuple):
    """A match: its kind, and the characters from `start` up to `end`."""

    kind: Kind
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
            address = _address(found[0])
            if address is None or (public_only and not address.is_global):
                continue
            if pattern is not _IPV4 or _is_apart(text, *found.span()):
                yield found.span()


def _is_apart(text: str, start: int, end: int) -> bool:
    """Return whether an address touches no letters, or is too long for a version number."""
    touches = _WORD.match(text, max(0, start - 1), start) or _WORD.match(text, end)
    return end - start >= _SHORTEST_TOUCHING or touches is None


def _address(written: str) -> IPv4Address | IPv6Address | None:
    if not any(map(str.isdigit, written)):
        return None
    try:
        return ip_address(written)
    except ValueError:
        return None


def find_phones(text: str) -> Iterator[tuple[int, int]]:
    """Find numbers with a country code (+44 …, 0044 …), and North American ones with area code."""
    place = 0
    while found := _PHONE.search(text, place):
        start, end = found.start(), _end_of_phone(text, *found.span())
        place = max(end, start + 1)
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
            yield from _cards_in(text, groups)


def _cards_in(text: str, groups: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    sizes = [end - start for start, end in groups]
    first = 0
    while first < len(groups):
        used = _card_at(text, groups, sizes, first)
        if used:
            yield groups[first][0], groups[first + used - 1][1]
        first += used or 1


def _card_at(text: str, groups: Sequence[tuple[int, int]], sizes: Sequence[int], first: int) -> int:
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
        shape = _iban_of(found[0][:2])
        whole = shape.match(text, found.start()) if shape else None
        if whole and is_iban(whole[0].replace(" ", "")):
            yield whole.span()


@cache
def _iban_of(country: str) -> re.Pattern[str] | None:
    """Return a pattern for a country's IBANs, with optional single spaces."""
    length = IBAN_LENGTHS.get(country)
    if length is None:
        return None
    return re.compile(rf"[A-Z0-9](?: ?[A-Z0-9]){{{length - 1}}}(?![A-Za-z0-9])")


FINDERS: dict[Kind, Callable[[str], Iterator[tuple[int, int]]]] = {
    "iban": find_ibans,
    "credit_card": find_cards,
    "email": find_emails,
    "ip": find_ips,
    "phone": find_phones,
}
"""Kinds with check digits first: where two kinds overlap, the first one wins."""
