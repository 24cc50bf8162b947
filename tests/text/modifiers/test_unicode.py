import unicodedata

import ftfy
import pytest
from curator_core import DocumentBatch
from curator_core.testing import run_stage
from curator_text import (
    ControlCharacterRemover,
    HtmlEntityDecoder,
    UnicodeNormalizer,
    UnicodeReformatter,
)
from hypothesis import given
from hypothesis import strategies as st

NEMO = ftfy.TextFixerConfig(uncurl_quotes=False, fix_line_breaks=False, normalization=None,
                            fix_latin_ligatures=False, fix_character_width=False)  # fmt: skip


def normalized(text: str, stage: UnicodeNormalizer) -> str:
    [after] = run_stage(stage, DocumentBatch.from_pylist([{"text": text}]))
    return after.to_pylist()[0]["text"]  # type: ignore[attr-defined, no-any-return]


def test_unicode_forms() -> None:
    assert normalized("cafe\u0301 \ufb01", UnicodeNormalizer()) == "caf\u00e9 \ufb01"
    assert normalized("\ufb01\uff21", UnicodeNormalizer("NFKC")) == "fiA"


@given(st.text(st.sampled_from("ae\u0301\u0327\u0323\u05b0"), max_size=29))
def test_normalization_agrees_with_python(text: str) -> None:
    assert normalized(text, UnicodeNormalizer()) == unicodedata.normalize("NFC", text)


def test_runs_of_marks_are_limited_to_30() -> None:
    after = normalized("e" + "\u0327" * 70, UnicodeNormalizer())
    assert [len(part) for part in after.split("\u034f")] == [30, 30, 10]
    assert after[0] == "\u0229"


def test_control_characters_are_removed_but_not_white_space() -> None:
    rows = [{"text": "a\x00b\x1b[1m\tc\nd\r\ne\x7ff\x85g\x0ch\x9fi"}]
    [after] = run_stage(ControlCharacterRemover(), DocumentBatch.from_pylist(rows))
    assert after.to_pylist()[0]["text"] == "ab[1m\tc\nd\r\nef\x85g\x0chi"


@pytest.mark.parametrize(
    ("text", "decoded"),
    [
        ("Tom &amp; Ann", "Tom & Ann"),
        ("caf&eacute; &#8364;5 &#x41;", "caf\u00e9 \u20ac5 A"),
        ("a & b; &nosuch; &&amp;", "a & b; &nosuch; &&"),
        ("&#0;&#xD800;&#1114112;", "\ufffd\ufffd\ufffd"),
        ("&amp;lt;", "&lt;"),
        ("&#12345678901234567890;", "&#12345678901234567890;"),
    ],
)
def test_html_entities_are_decoded(text: str, decoded: str) -> None:
    assert HtmlEntityDecoder().rewrite(text) == decoded


def test_wrongly_decoded_texts_are_repaired() -> None:
    assert UnicodeReformatter().rewrite("sch\u00c3\u00b6n") == "sch\u00f6n"
    assert UnicodeReformatter(fix_encoding=False).rewrite("sch\u00c3\u00b6n") == "sch\u00c3\u00b6n"


@pytest.mark.parametrize(
    ("stage", "text", "after"),
    [
        (UnicodeReformatter(), "a &amp; b", "a & b"),
        (UnicodeReformatter(), "<b> &amp; b", "<b> &amp; b"),
        (UnicodeReformatter(unescape_html=True), "<b> &amp; b", "<b> & b"),
        (UnicodeReformatter(unescape_html=False), "a &amp; b", "a &amp; b"),
        (UnicodeReformatter(), "\u201cso\u201d", "\u201cso\u201d"),
        (UnicodeReformatter(uncurl_quotes=True), "\u201cso\u201d", '"so"'),
        (UnicodeReformatter(fix_latin_ligatures=True), "\ufb01n", "fin"),
        (UnicodeReformatter(fix_character_width=True), "\uff21", "A"),
        (UnicodeReformatter(fix_line_breaks=True), "a\r\nb", "a\nb"),
        (UnicodeReformatter(), "\x1b[1mbold\x1b[0m\x00", "bold"),
        (UnicodeReformatter(remove_control_chars=False), "\x1b[1ma\x00", "a\x00"),
        (UnicodeReformatter(remove_terminal_escapes=False), "\x1b[1ma\x00", "[1ma"),
        (UnicodeReformatter(), "e\u0301", "e\u0301"),
        (UnicodeReformatter(normalization="NFC"), "e\u0301", "\u00e9"),
    ],
)  # fmt: skip
def test_options_are_those_of_ftfy(stage: UnicodeReformatter, text: str, after: str) -> None:
    assert stage.rewrite(text) == after


@pytest.mark.timeout(20)
def test_time_is_bounded_for_long_runs_of_marks() -> None:
    after = UnicodeReformatter(normalization="NFC").rewrite("e" + "\u0301\u0327" * 100_000)
    assert len(after) > 200_000


@given(st.text(st.characters(max_codepoint=127), max_size=60))
def test_unchanged_texts_are_unchanged_by_ftfy(text: str) -> None:
    assert UnicodeReformatter().rewrite(text) == ftfy.fix_text(text, NEMO)


def test_ftfy_config_replaces_all_options() -> None:
    stage = UnicodeReformatter(ftfy.TextFixerConfig(uncurl_quotes=True, unescape_html=False))
    assert list(stage.check()) == []
    assert stage.rewrite("\u201ca\u201d &amp; sch\u00c3\u00b6n") == '"a" &amp; sch\u00f6n'


def test_ftfy_config_with_other_options_is_refused() -> None:
    config = ftfy.TextFixerConfig()
    [problem] = UnicodeReformatter(config, uncurl_quotes=True).check()
    assert "uncurl_quotes" in problem
    [problem] = UnicodeReformatter(True).check()
    assert "TextFixerConfig" in problem
