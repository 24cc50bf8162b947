import pytest
from curator_text.html.charsets import decoded


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
def test_who_is_believed(page: bytes, charset: str | None, text: str) -> None:
    assert decoded(page, charset) == text


@pytest.mark.parametrize("quote", ["'", '"', ""])
def test_what_the_page_says(quote: str) -> None:
    page = f"<html><META name=x charset={quote}koi8-r{quote}>".encode() + "да".encode("koi8-r")
    assert decoded(page).endswith("да")
    old = b"<meta http-equiv=Content-Type content='text/html; charset=koi8-r'>"
    assert decoded(old + "да".encode("koi8-r")).endswith("да")
    assert decoded(page, "cp1252").endswith("ÄÁ")
