import bz2
import gzip
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from curator_core import Empty, InputError
from curator_core.model.files import FilePart
from curator_core.testing import check_stage, run_stages
from curator_text import WikipediaReader
from curator_text.readers.wikipedia import WikipediaReading
from curator_text.readers.wikitext import wikitext_to_text
from hypothesis import given
from hypothesis import strategies as st

HEAD = "<mediawiki xmlns='x'><siteinfo><sitename>W</sitename></siteinfo>\n"


def page(number: int, text: str = "text", namespace: int = 0, more: str = "") -> str:
    return (
        f"  <page><title>Page {number}</title><ns>{namespace}</ns><id>{number}</id>{more}<revision>"
        f"<id>9</id><timestamp>2024</timestamp><text bytes='1'>{text}</text></revision></page>\n"
    )


MANY = [page(number, f"number {number} " * 40) for number in range(60)]
STREAMS = [HEAD, *("".join(MANY[at : at + 5]) for at in range(0, 60, 5)), "</mediawiki>"]
DUMP = b"".join(bz2.compress(one.encode()) for one in STREAMS)


def read(path: Path, **options: object):
    return run_stages([WikipediaReader(str(path), **options)], [Empty()], on_error="quarantine")


def test_redirects_and_other_namespaces_are_dropped(tmp_path: Path) -> None:
    path = tmp_path / "w.xml"
    pages = [
        page(7, "''A'' &amp;amp; [[B|bee]]"),
        page(8, more="<redirect title='x' />"),
        page(9, namespace=4),
        page(10, "x" * 5000),
    ]
    path.write_text(HEAD + "".join(pages) + "</mediawiki>")
    run = read(path, max_page_bytes=1000)
    assert [row for task in run.outputs for row in task.data.to_pylist()] == [
        {"title": "Page 7", "page_id": 7, "namespace": 0, "timestamp": "2024", "text": "A & bee"}
    ]
    assert dict(run.report.of(1).reasons) == {
        "redirect": 1,
        "other namespace": 1,
        "larger than max_page_bytes": 1,
    }


@given(cuts=st.sets(st.integers(1, len(DUMP) - 1), max_size=8))
def test_each_page_is_in_exactly_one_byte_range(
    tmp_path_factory: pytest.TempPathFactory, cuts: set[int]
) -> None:
    path = tmp_path_factory.getbasetemp() / "w.xml.bz2"
    path.write_bytes(DUMP)
    found: list[object] = []
    for start, end in pairwise([0, *sorted(cuts), None]):
        part = FilePart(str(path), start=start or 0, end=end)
        found += [row[1] for row in WikipediaReading().rows(part)]
    assert found == list(range(60))


def test_single_stream_dump_and_truncated_dump(tmp_path: Path) -> None:
    path = tmp_path / "w.xml.bz2"
    path.write_bytes(bz2.compress("".join(STREAMS).encode()))
    check_stage(WikipediaReader(str(path)), Empty())
    assert sum(task.num_items for task in read(path, blocksize=100).outputs) == 60
    path.write_bytes(DUMP[: len(DUMP) // 2])
    run = read(path)
    assert 20 < sum(task.num_items for task in run.outputs) < 40
    assert [bad.reason for bad in run.report.quarantined] == ["the compressed data is truncated"]


@pytest.mark.parametrize("packed", [bytes, bz2.compress, gzip.compress])
def test_other_files_are_refused(tmp_path: Path, packed: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "w.xml"
    path.write_bytes(packed(b"WARC/1.0\r\nWARC-Type: warcinfo\r\n") * 3)
    with pytest.raises(InputError, match=r"XML dump .* b'WARC/1\.0"):
        list(WikipediaReading().rows(FilePart(str(path))))


def test_entities_are_never_expanded(tmp_path: Path) -> None:
    path = tmp_path / "w.xml"
    bomb = "<!ENTITY a 'lol'>" + "".join(
        f"<!ENTITY {new} '&{old};&{old};&{old};'>" for old, new in pairwise("abcdefghij")
    )
    path.write_text(f"<!DOCTYPE x [{bomb}]>{HEAD}{page(1, '&j;')}</mediawiki>")
    run = read(path)
    [bad] = run.report.quarantined
    assert bad.reason.startswith("it declares a document type")
    assert run.outputs == []


@pytest.mark.parametrize(
    ("wikitext", "text"),
    [
        ("a {{b|c={{d}}}} e", "a  e"),
        ("[[File:x.jpg|thumb|A [[cat]]]]dog", "dog"),
        ("[[cat]]s and [[dog|dogs]]", "cats and dogs"),
        ("[[de:Katze]][[Category:Pets]]x", "x"),
        ("x<ref name=a/> y<ref>z [[q]]</ref>.", "x y."),
        ("{| class=x\n| a || b\n|}\nafter", "after"),
        ("== Head ==\n* one\n# two", "Head\none\ntwo"),
        ("see [https://x.example here] and [//y.example]", "see here and"),
        ("a<!-- {{ b -->c", "ac"),
        ("a {{ b", "a  b"),
        ("a }} b ]] c", "a  b  c"),
        ("a<br/>b &nbsp; <b>c</b> __TOC__", "a\nb   c"),
        ("''''' five '''''", "five"),
        ("", ""),
        ("see <nowiki>[[x]] '''b''' &amp; <b></nowiki> here", "see [[x]] '''b''' & <b> here"),
        ("it<nowiki/>s <nowiki />[[cat]]", "its cat"),
        ("<nowiki>* no list</nowiki>", "* no list"),
        ("a <nowiki> never [[closed]]", "a  never [[closed]]"),
        ("a {{{1|def}}} b", "a def b"),
        ("a {{{1}}} b {{{2|}}} c", "a  b  c"),
        ("a {{t|{{{1|{{u}}}}}}} b", "a  b"),
        ("a {{{{{1|x}}}|y}} b", "a  b"),
        ("{{a|b=|}}c", "c"),
        ("{{a|\n{| class=x\n| b\n|}}}c", "c"),
        ("{{a}}} b", "} b"),
        ("{| a\n| {{{1|}}}\n|}after", "after"),
        ("x{{a|{b}}}y", "x}y"),
        ("f(x) = {x | x > 0} {a|b}", "f(x) = {x | x > 0} {a|b}"),
        (
            "<syntaxhighlight lang=c>\nx [[a|b]]\n\n\n\n  &amp; {{x}}\n</syntaxhighlight>",
            "x [[a|b]]\n\n\n\n  &amp; {{x}}",
        ),
        ("<source lang=c>int a[[1]];</source>", "int a[[1]];"),
        ("a <pre>  '''b'''</pre>", "a   '''b'''"),
        ("<ref><nowiki>[[</nowiki></ref>x", "x"),
        ("\x020\x03<nowiki>a</nowiki>", "0\x03a"),
    ],
)
def test_wikitext_to_text(wikitext: str, text: str) -> None:
    assert wikitext_to_text(wikitext) == text


@pytest.mark.parametrize(
    "mark",
    [
        "{{",
        "[[",
        "<!--",
        "{|",
        "<ref>",
        "[[a|",
        "[http://",
        "'",
        "=",
        "<",
        "&",
        "{{{{}}",
        "[[]]",
        "{{{",
        "}",
        "|}",
        "<nowiki>",
        "<pre>[[",
    ],
)
def test_time_is_linear_in_the_length(mark: str) -> None:
    begun = time.process_time()
    wikitext_to_text(mark * 100_000)
    assert time.process_time() - begun < 5
