import pytest
from curator_text import NonAlphaNumericFilter, NumbersFilter, UrlsFilter
from curator_text.document_text import DocumentText


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("abcd", 0.0),
        ("ab c", 0.25),
        ("Is it? Yes, 3!\n.", 3 / 16),
        ("a-b+", 0.5),
        ("äé東", 1.0),
    ],
)
def test_non_alpha_numeric_counts_all_but_ascii_letters_digits_and_plain_marks(
    text: str, score: float
) -> None:
    assert NonAlphaNumericFilter().score(DocumentText(text)) == pytest.approx(score)


def test_non_alpha_numeric_limit_is_inclusive() -> None:
    assert NonAlphaNumericFilter().passes("abc ")
    assert not NonAlphaNumericFilter().passes("ab c ")
    assert NonAlphaNumericFilter(max_non_alpha_numeric_to_text_ratio=0.5).passes("ab c ")


def test_numbers_are_the_digits_from_0_to_9() -> None:
    assert NumbersFilter().score(DocumentText("ab12")) == 0.5
    assert NumbersFilter().score(DocumentText("\u0663\u0664 \u00bd")) == 0.0


def test_numbers_limit_is_inclusive() -> None:
    assert NumbersFilter().passes("a" * 17 + "123")
    assert not NumbersFilter().passes("a" * 16 + "1234")


def test_urls_are_measured_by_their_characters() -> None:
    assert UrlsFilter().score(DocumentText("see http://a.b/c now")) == pytest.approx(12 / 20)
    assert UrlsFilter().score(DocumentText("see https://a.b/?q=1&r=%20 ")) == pytest.approx(22 / 27)
    assert UrlsFilter().score(DocumentText("ftp://a.b/c and http:/a")) == 0.0


def test_urls_drop_above_a_fifth() -> None:
    url = "http://a.b"
    assert UrlsFilter().passes(url + " " * 10 + "x" * 30)
    assert not UrlsFilter().passes(url + " " * 9 + "x" * 30)
