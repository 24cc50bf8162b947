"""Planted data is found, lookalikes are not, and time is linear."""

import ipaddress
import string
import time

import pytest
from curator_text.pii.detectors import IBAN_LENGTHS, PiiKind, find_pii, is_iban, is_luhn
from curator_text.pii.redaction import redact
from hypothesis import assume, given
from hypothesis import strategies as st

AROUND = st.sampled_from(["", "x ", "call: ", "(", "好", "\n", "…", '"', "a, ", "\u0301 "])
BEHIND = st.sampled_from(["", ". x", ", so", ")", "好", "\n", '"', "; 7"])
LOCALS = st.text(string.ascii_letters + string.digits + "_+-", min_size=1, max_size=20)
LABELS = st.text(string.ascii_lowercase + string.digits, min_size=1, max_size=20)


def found(text: str, *kinds: PiiKind) -> list[str]:
    return [text[start:end] for _, start, end in find_pii(text, kinds or ("credit_card", "iban"))]


def with_check_digit(number: str) -> str:
    return next(number + digit for digit in "0123456789" if is_luhn(number + digit))


cards = st.sampled_from([("4", 16), ("4", 13), ("51", 16), ("2221", 16), ("37", 15), ("6011", 16)])


@st.composite
def card_numbers(draw: st.DrawFn) -> str:
    start, length = draw(cards)
    size = length - 1 - len(start)
    return with_check_digit(
        start + "".join(draw(st.lists(st.sampled_from("0123456789"), min_size=size, max_size=size)))
    )


@st.composite
def ibans(draw: st.DrawFn) -> str:
    country = draw(st.sampled_from(sorted(IBAN_LENGTHS)))
    size = IBAN_LENGTHS[country] - 4
    signs = string.ascii_uppercase + string.digits
    rest = "".join(draw(st.lists(st.sampled_from(signs), min_size=size, max_size=size)))
    return next(
        number for digits in range(2, 99) if is_iban(number := f"{country}{digits:02d}{rest}")
    )


def in_fours(number: str, separator: str) -> str:
    return separator.join(number[i : i + 4] for i in range(0, len(number), 4))


@given(LOCALS, st.lists(LABELS, min_size=1, max_size=3), AROUND, BEHIND)
def test_planted_email_is_found(local: str, labels: list[str], before: str, behind: str) -> None:
    address = f"{local}@{'.'.join(labels)}.org"
    assert found(f"{before}{address}{behind}", "email") == [address]


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("Abc..123@example.com", "Abc..123@example.com"),
        ("email..email@example.com", "email..email@example.com"),
        ("an .email@example.com", "email@example.com"),
        ("write to us...bob@example.com", "bob@example.com"),
        ("user@münchen.de", "user@münchen.de"),
        ("Jörg.Müller@example.de", "Jörg.Müller@example.de"),
        ("иван@почта.рф", "иван@почта.рф"),
        ("a@xn--mnchen-3ya.de", "a@xn--mnchen-3ya.de"),
        ("a@example.xn--p1ai", "a@example.xn--p1ai"),
        ("请联系bob@例子.com谢谢", "bob@例子.com"),
        ("bob@[192.0.2.1]", "bob@[192.0.2.1]"),
    ],
)
def test_unusual_email_is_found(text: str, address: str) -> None:
    assert found(f"({text})", "email") == [address]


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("http://example.com/188.46.244.216my-page", "188.46.244.216"),
        ("host188.46.244.216", "188.46.244.216"),
        ("ip_10.0.2.15_a", "10.0.2.15"),
        ("是1.2.3.4吗", "1.2.3.4"),
    ],
)
def test_ip_address_that_touches_letters_is_found(text: str, address: str) -> None:
    assert found(text, "ip") == [address]


@given(card_numbers(), st.sampled_from(["", " ", "-"]), AROUND, BEHIND)
def test_planted_card_number_is_found(
    number: str, separator: str, before: str, behind: str
) -> None:
    assume(not separator or len(number) == 16)
    written = in_fours(number, separator) if separator else number
    assume(not (before == "x " and not separator))
    assert found(f"{before}{written}{behind}", "credit_card") == [written]


@given(card_numbers(), st.integers(1, 9))
def test_card_number_with_wrong_check_digit_is_ignored(number: str, wrong: int) -> None:
    spoilt = f"{number[:-1]}{(int(number[-1]) + wrong) % 10}"
    assert found(f"card {spoilt}.", "credit_card") == []


@given(ibans(), st.booleans(), AROUND, BEHIND)
def test_planted_iban_is_found(number: str, grouped: bool, before: str, behind: str) -> None:
    written = in_fours(number, " ") if grouped else number
    assert found(f"{before}{written}{behind}", "iban") == [written]


@given(ibans(), st.integers(1, 96))
def test_iban_with_wrong_check_digits_is_ignored(number: str, wrong: int) -> None:
    spoilt = f"{number[:2]}{(int(number[2:4]) + wrong) % 97 + 1:02d}{number[4:]}"
    assume(spoilt[2:4] != number[2:4] and int(spoilt[2:4]) % 97 != int(number[2:4]) % 97)
    assert found(f"account {spoilt}.", "iban") == []


@given(st.ip_addresses(), AROUND, st.sampled_from(["", ", so", ")", "\n", " x", "."]))
def test_planted_ip_address_is_found(address: object, before: str, behind: str) -> None:
    written = str(address)
    assume(any(map(str.isdigit, written)))
    assume(not before.endswith(":"))
    assert found(f"{before}{written}{behind}", "ip") == [written]


@pytest.mark.parametrize(
    "written",
    [
        "+44 20 7946 0958",
        "+1 (415) 555-2671",
        "+49 (0)30 1234567",
        "+4915112345678",
        "0049 30 123456",
        "(212) 555-1234",
        "212-555-1234",
        "1-212-555-1234",
        "+33 1 23 45 67 89",
    ],
)
def test_phone_number_is_found(written: str) -> None:
    assert found(f"Call {written}, or not.", "phone") == [written]


@pytest.mark.parametrize(
    "text",
    ["2024-05-06", "12.05.2024", "1234567890", "+1", "+12 34", "x+44 20 7946 0958", "112-555-1234"],
)
def test_other_numbers_are_not_phone_numbers(text: str) -> None:
    assert found(text, "phone") == []


def test_adjacent_phone_numbers_are_separate() -> None:
    text = "+44 20 7946 0958 +1 415 555 2671"
    assert found(text, "phone") == ["+44 20 7946 0958", "+1 415 555 2671"]


@pytest.mark.parametrize(
    "text",
    [
        "a@b",
        "@example.com",
        "a.@example.com",
        "a@b.c",
        "lib1.0.0.1",
        "1.2.3.4rc1",
        "a@-example.com",
        "1.2.3.4.5",
        "256.1.1.1",
        "1.2.3",
        "v1.2.3.4",
        "12:30:45",
        "std::vector",
        "a::b",
        " :: ",
        "1:2:3:4:5:6:7:8:9",
        "41111111111111111111",
        "4111 111111111111",
        "4111 1111-1111 1111",
        "DE89 3704 0044 0532 0130 0",
        "DE89  3704 0044 0532 0130 00",
        "de89370400440532013000",
        "ZZ89370400440532013000",
    ],
)
def test_lookalikes_are_ignored(text: str) -> None:
    assert found(text, "email", "ip", "credit_card", "iban") == []


def test_private_ip_addresses_can_be_ignored() -> None:
    text = "192.168.0.1, 10.1.2.3, 127.0.0.1, 8.8.8.8, fe80::1, ::1, 2600::1"
    spans = find_pii(text, public_ips_only=True)
    assert [text[start:end] for _, start, end in spans] == ["8.8.8.8", "2600::1"]
    assert ipaddress.ip_address("2600::1").is_global


def test_matches_of_different_kinds_never_overlap() -> None:
    text = "bob@8.8.8.8.example.com ::ffff:1.2.3.4 GB82 WEST 1234 5698 7654 32"
    kinds = [kind for kind, _, _ in find_pii(text)]
    assert kinds == ["email", "ip", "iban"]


@given(st.text(st.sampled_from("a1.@:+- 4DE89()\n好"), max_size=80))
def test_matches_are_sorted_and_never_overlap(text: str) -> None:
    spans = find_pii(text)
    ends = [0, *(end for _, _, end in spans)]
    assert all(before <= start < end for before, (_, start, end) in zip(ends, spans, strict=False))
    assert len(redact(text, spans, "")) == len(text) - sum(end - s for _, s, end in spans)


UNITS = [
    *("@", "a@", "a", "a.", "1", "1 ", "4111 ", "1.", ":", "1:", "+", "+1 ", "-34", "(212) "),
    *("DE89", "DE89 ", "1.1.1.1 ", "a@b.cc ", "%-", "好", "e\u0301", "\x00", "::1", "+1 2"),
]
HOSTILE = [unit * (100_000 // len(unit)) for unit in UNITS]
HOSTILE += [
    "x@" + "a." * 50_000,
    "x@a" + "-a" * 50_000,
    "x@" + "a" * 100_000,
    "+12" + "-34" * 30_000,
]


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: text[:6])
def test_time_is_linear_in_the_length(text: str) -> None:
    def seconds(given_text: str) -> float:
        started = time.process_time()
        find_pii(given_text)
        return time.process_time() - started

    assert seconds(text) < 2  # quadratic time would be minutes
    assert min(seconds(text * 2) for _ in range(2)) < 8 * seconds(text) + 0.2
