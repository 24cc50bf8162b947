"""Labels of charsets, as pages and servers use them."""

import pytest
from curator_text.html.charset import decode_page, find_codec


@pytest.mark.parametrize(
    ("page", "charset", "text"),
    [
        ("é".encode(), None, "é"),
        ("é".encode("cp1252"), None, "é"),
        ("é".encode(), "iso-8859-1", "Ã©"),
        (b"\xef\xbb\xbf" + "é".encode(), "iso-8859-1", "é"),
        (b"\xff\xfe" + "é".encode("utf-16-le"), None, "é"),
        ("中".encode("gbk"), "GB2312", "中"),
        ("é".encode(), "no-such-charset", "é"),
        ("é".encode(), "base64", "é"),
        ("é".encode(), "idna\0", "é"),
        ("é".encode(), "utf-16", "é"),
        (b"\x93x\x94", "latin1", "“x”"),
    ],
)
def test_precedence_of_declarations(page: bytes, charset: str | None, text: str) -> None:
    assert decode_page(page, charset) == text


@pytest.mark.parametrize("quote", ["'", '"', ""])
def test_charset_declared_in_the_page(quote: str) -> None:
    page = f"<html><META name=x charset={quote}koi8-r{quote}>".encode() + "да".encode("koi8-r")
    assert decode_page(page).endswith("да")
    old = b"<meta http-equiv=Content-Type content='text/html; charset=koi8-r'>"
    assert decode_page(old + "да".encode("koi8-r")).endswith("да")
    assert decode_page(page, "cp1252").endswith("ÄÁ")


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
def test_charset_names_of_the_encoding_standard_are_known(
    label: str, codec: str, text: str
) -> None:
    page = text.encode(codec)
    assert decode_page(page, label) == text
    assert decode_page(page, f" {label.upper()}\n") == text


@pytest.mark.parametrize("label", ["idna", "punycode", "unicode_escape", "utf-7", "", None])
def test_other_python_codecs_are_not_charsets(label: str | None) -> None:
    assert find_codec(label) is None


def test_forbidden_charsets_give_a_replacement_character() -> None:
    assert decode_page(b"<p>text</p>", "iso-2022-cn") == "\ufffd"


def test_user_defined_charset_of_a_server_uses_private_characters() -> None:
    assert decode_page(b"a\x80\xff", "x-user-defined") == "a\uf780\uf7ff"
    assert decode_page(b"<meta charset=x-user-defined>\xe9").endswith("é")


def test_served_utf_16_requires_nul_bytes() -> None:
    assert decode_page("é".encode(), "utf-16le") == "é"
    assert decode_page("<p>é".encode("utf-16-be"), "UTF-16BE") == "<p>é"
