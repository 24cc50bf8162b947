"""Check digits: validate card numbers and IBANs."""

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
