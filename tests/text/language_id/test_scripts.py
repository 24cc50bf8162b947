# ruff: noqa: RUF001 - letters of other scripts are meant.

import pytest
from curator_text.language_id.scripts import main_script, script_shares
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("Straße nº 5", "Latin"),
        ("ｆｕｌｌ ｗｉｄｔｈ", "Latin"),
        ("Привет", "Cyrillic"),
        ("Γειά σου", "Greek"),
        ("שָׁלוֹם", "Hebrew"),
        ("مرحبا", "Arabic"),
        ("नमस्ते", "Devanagari"),
        ("สวัสดี", "Thai"),
        ("안녕하세요", "Hangul"),
        ("你好", "Han"),
        ("ひらがな", "Hiragana"),
        ("ｶﾀｶﾅ", "Katakana"),
        ("\U00010900\U00010901", "Other"),
        ("12 + 34 = 🙂", "None"),
        ("", "None"),
    ],
)
def test_script_of_a_text(text: str, script: str) -> None:
    assert main_script(text)[0] == script


def test_shares_count_letters_only() -> None:
    assert script_shares("ab, я 12 !!") == {"Latin": 2 / 3, "Cyrillic": 1 / 3}
    assert script_shares("e\u0301") == {"Latin": 1.0}


@given(st.text())
def test_shares_add_up_to_one(text: str) -> None:
    shares = script_shares(text)
    assert not shares or abs(sum(shares.values()) - 1) < 1e-9


@pytest.mark.timeout(20)
def test_line_of_millions_of_characters_is_fast() -> None:
    assert main_script("e" + "\u0301" * 10**6 + "好" * 10**6) == ("Han", 10**6 / (10**6 + 1))
