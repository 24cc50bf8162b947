"""Labels of charsets, as pages and servers use them."""

import pytest
from curator_text.html.charsets import decoded
from curator_text.html.labels import codec_of


@pytest.mark.parametrize(
    ("label", "codec", "text"),
    [
        ("windows-874", "cp874", "ไทย"),
        ("x-sjis", "cp932", "髙①"),
        ("windows-31j", "cp932", "髙①"),
        ("ks_c_5601-1989", "cp949", "한글"),
        ("x-gbk", "gbk", "中文"),
        ("x-euc-jp", "euc_jp", "日本"),
        ("x-mac-cyrillic", "mac-cyrillic", "Да"),
        ("x-mac-ukrainian", "mac-cyrillic", "Ґ"),
        ("x-cp1251", "cp1251", "Да"),
        ("iso-8859-8-i", "iso8859-8", "שלום"),
        ("x-x-big5", "big5hkscs", "中文"),
        ("dos-874", "cp874", "ไทย"),
        ("x-unicode20utf8", "utf-8", "é"),
        ("cp850", "cp850", "é"),
        ("hz-gb-2312", "hz", "中文"),
        ("iso-2022-kr", "iso2022_kr", "한글"),
    ],
)
def test_names_of_the_web_are_known(label: str, codec: str, text: str) -> None:
    page = text.encode(codec)
    assert decoded(page, label) == text
    assert decoded(page, f" {label.upper()}\n") == text


@pytest.mark.parametrize("label", ["idna", "punycode", "unicode_escape", "utf-7", "", None])
def test_other_codecs_of_python_are_no_charsets(label: str | None) -> None:
    assert codec_of(label) is None


def test_what_browsers_refuse_to_read_is_replaced() -> None:
    assert decoded(b"<p>text</p>", "iso-2022-cn") == "\ufffd"


def test_user_defined_bytes_are_private_unless_the_page_itself_says_so() -> None:
    assert decoded(b"a\x80\xff", "x-user-defined") == "a\uf780\uf7ff"
    assert decoded(b"<meta charset=x-user-defined>\xe9").endswith("é")


def test_a_server_that_says_utf_16_is_believed_where_there_are_nul_bytes() -> None:
    assert decoded("é".encode(), "utf-16le") == "é"
    assert decoded("<p>é".encode("utf-16-be"), "UTF-16BE") == "<p>é"
