import gzip
import io
import random
import zlib
from itertools import pairwise

import pytest
from archives import record, zipped
from curator_core import InputError
from curator_text.readers.warc_records import Damage, WarcRecord, warc_records
from hypothesis import given
from hypothesis import strategies as st

DICE = random.Random(7)
BODIES = [DICE.randbytes(DICE.randrange(1, 6000)) for _ in range(40)]
ALL = [f"http://site.example/{number}" for number in range(len(BODIES))]
PACKED = zipped(record(number, body) for number, body in enumerate(BODIES))
INNER = zipped(record(900 + number, body) for number, body in enumerate(BODIES))
NESTED = zipped([record(0, b"a"), record(1, INNER), record(2, b"c")], level=0)
PLAIN = b"".join(record(number, body) for number, body in enumerate(BODIES))


def read(
    data: bytes, start: int = 0, end: int | None = None, most: int = 1 << 20
) -> tuple[list[str], list[Damage]]:
    found = list(warc_records(io.BytesIO(data), start, end, most))
    urls = [one.headers["warc-target-uri"] for one in found if isinstance(one, WarcRecord)]
    return urls, [one for one in found if isinstance(one, Damage)]


def in_parts(data: bytes, cuts: set[int]) -> tuple[list[str], list[Damage]]:
    edges = [0, *sorted(cuts), None]
    urls: list[str] = []
    damage: list[Damage] = []
    for start, end in pairwise(edges):
        assert start is not None
        more, worse = read(data, start, end)
        urls, damage = urls + more, damage + worse
    return urls, damage


def test_record_has_offset_headers_and_content() -> None:
    [one] = warc_records(io.BytesIO(zipped([record(3, b"<p>hello")])), 0, None, 1000)
    assert isinstance(one, WarcRecord)
    assert one.headers["warc-record-id"] == "<urn:uuid:3>"
    assert one.content is not None
    assert bytes(one.content).endswith(b"\r\n\r\n<p>hello")


def test_headers_in_any_case_and_spacing() -> None:
    head = b"WARC/1.0\r\nwarc-type : a:b \r\nWARC-Type: c\r\n folded: x\r\nnone\r\n"
    data = head + b"CONTENT-LENGTH:2\r\nX: \xff\r\n\r\nhi\r\n\r\n"
    [one] = warc_records(io.BytesIO(data), 0, None, 1000)
    assert isinstance(one, WarcRecord)
    assert one.headers["warc-type"] == "a:b"
    assert one.headers["x"] == "\N{REPLACEMENT CHARACTER}"
    assert one.content == b"hi"


def test_members_across_read_boundaries() -> None:
    dice = random.Random(8)
    bodies = [dice.randbytes(dice.choice([1, 900, 31_000, 33_000, 262_000])) for _ in range(40)]
    data = zipped(record(number, body) for number, body in enumerate(bodies))
    found = list(warc_records(io.BytesIO(data), 0, None, 1 << 20))
    contents = [one.content for one in found if isinstance(one, WarcRecord)]
    assert [bytes(one or b"").partition(b"\r\n\r\n")[2] for one in contents] == bodies
    offsets = [one.offset for one in found]
    middle = offsets[20]
    later = list(warc_records(io.BytesIO(data), middle, None, 1 << 20))
    assert [one.offset for one in later] == offsets[20:]


@pytest.mark.parametrize("data", [PACKED, PLAIN], ids=["gz", "plain"])
@given(cuts=st.data())
def test_each_record_is_in_exactly_one_byte_range(data: bytes, cuts: st.DataObject) -> None:
    drawn = cuts.draw(st.sets(st.integers(1, len(data) - 1), max_size=12))
    assert in_parts(data, drawn) == (ALL, [])


@pytest.mark.parametrize("data", [PACKED, PLAIN], ids=["gz", "plain"])
def test_byte_ranges_that_start_at_a_record(data: bytes) -> None:
    found = warc_records(io.BytesIO(data), 0, None, 1 << 20)
    offsets = {one.offset for one in found} - {0}
    assert len(offsets) == len(ALL) - 1
    assert in_parts(data, offsets) == (ALL, [])
    assert in_parts(data, {offset + 1 for offset in offsets}) == (ALL, [])


@given(cuts=st.data())
def test_archive_stored_inside_another_is_not_read(cuts: st.DataObject) -> None:
    drawn = cuts.draw(st.sets(st.integers(1, len(NESTED) - 1), max_size=5))
    assert in_parts(NESTED, drawn) == (ALL[:3], [])


def test_one_member_may_have_several_records() -> None:
    assert read(gzip.compress(PLAIN)) == (ALL, [])
    assert in_parts(gzip.compress(PLAIN), {10, 5000, 20000}) == (ALL, [])


@pytest.mark.parametrize("cut", [40, 3000, len(PACKED) // 2, len(PACKED) - 1])
def test_truncated_file_keeps_complete_records(cut: int) -> None:
    urls, damage = read(PACKED[:cut])
    assert urls == ALL[: len(urls)]
    assert [one.reason for one in damage] == ["the compressed data is truncated"]
    again, worse = in_parts(PACKED[:cut], {cut // 3, cut // 2})
    assert (again, worse) == (urls, damage)


@given(place=st.integers(20, len(PACKED) - 1), cuts=st.sets(st.integers(1, len(PACKED) - 1)))
def test_damage_loses_only_nearby_records(place: int, cuts: set[int]) -> None:
    data = bytearray(PACKED)
    data[place] ^= 0x55
    urls, damage = read(bytes(data))
    assert len(urls) >= len(ALL) - 1
    assert len(damage) <= 1  # none in unchecked fields, such as times
    assert in_parts(bytes(data), cuts) == (urls, damage)


def test_wrong_length_does_not_damage_the_next_record() -> None:
    for length, reason in (
        (10**6, "the record is truncated: it has 73 of 1000000 bytes"),
        (30, "the record does not end after its 30 bytes"),
    ):
        records = [record(0, b"a"), record(1, b"b" * 10, length=length), record(2, b"c")]
        urls, [damage] = read(zipped(records))
        assert urls == [ALL[0], ALL[2]]
        assert damage.reason == reason
        assert damage.offset == len(gzip.compress(records[0]))
        urls, [damage] = read(b"".join(records))
        assert urls == [ALL[0], ALL[2]]
        assert damage.offset == len(records[0])


@pytest.mark.parametrize("length", ["-5", "", "1e3", "9" * 40, "٣"])
def test_invalid_length_is_damage(length: str) -> None:
    bad = record(1, b"x", length=length)
    urls, [damage] = read(zipped([record(0, b"a"), bad, record(2, b"c")]))
    assert urls == [ALL[0], ALL[2]]
    assert f"no valid length: '{length[:20]}" in damage.reason


def test_decompression_bomb_is_skipped_in_bounded_memory() -> None:
    body = zlib.compressobj(9, zlib.DEFLATED, 31)
    size = 200 << 20
    bomb = body.compress(record(1, b"", http=b"", length=size)[:-4])
    bomb += b"".join(body.compress(b"\0" * (1 << 20)) for _ in range(200))
    bomb += body.compress(b"\r\n\r\n") + body.flush()
    data = zipped([record(0, b"a")]) + bomb + zipped([record(2, b"c")])
    found = list(warc_records(io.BytesIO(data), 0, None, 1 << 20))
    assert [one.content is None for one in found if isinstance(one, WarcRecord)] == [
        False,
        True,
        False,
    ]


def test_header_without_an_end_is_damage() -> None:
    endless = gzip.compress(b"WARC/1.0\r\nA: " + b"x" * 200_000)
    urls, [damage] = read(zipped([record(0, b"a")]) + endless + zipped([record(2, b"c")]))
    assert urls == [ALL[0], ALL[2]]
    assert damage.reason == "the header of a record does not end"


def test_zero_padding_after_the_last_record_is_ignored() -> None:
    assert read(PACKED + b"\0" * 100_000) == (ALL, [])


def test_junk_after_the_last_record() -> None:
    urls, [damage] = read(PACKED + b"junk" * 10)
    assert urls == ALL
    assert damage.offset == len(PACKED)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"<html>403 Forbidden</html>", "starts like HTML or XML, not like a WARC file"),
        (b"\x28\xb5\x2f\xfd...", "repack it as .warc.gz"),
        (b"PK\x03\x04", "it is not a WARC file: it starts with b'PK"),
    ],
)
def test_other_files_are_refused(data: bytes, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        read(data)


def test_empty_file_has_no_records() -> None:
    assert read(b"") == ([], [])
