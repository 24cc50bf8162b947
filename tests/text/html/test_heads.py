import pytest
from curator_text.html.heads import language_of, title_of


@pytest.mark.parametrize(
    ("page", "language"),
    [
        ('<html lang="de">', "de"),
        ("<HTML class=a LANG = ' pt-BR'>", "pt"),
        ("<html xml:lang=gsw>", "gsw"),
        ('<html class="old"><html lang="de">', "de"),
        ('<html lang=""><p lang="de">', None),
        ('<html lang="german">', None),
        ("<p lang=de>", None),
    ],
)
def test_the_language_that_a_page_names(page: str, language: str | None) -> None:
    assert language_of(page) == language


@pytest.mark.parametrize(
    ("page", "title"),
    [
        ("<title>A &amp; b\n c</title>", "A & b c"),
        ("<TITLE id=a>A</TITLE>", "A"),
        ("<title <title>A</title>", "A"),
        ("<title></title>", None),
        ("<titles>A</titles>", None),
    ],
)
def test_the_title_of_a_page(page: str, title: str | None) -> None:
    assert title_of(page) == title
