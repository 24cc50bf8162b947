import pytest
from curator_text.html.sandbox_child import find_language, find_title


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
def test_declared_language(page: str, language: str | None) -> None:
    assert find_language(page) == language


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
def test_page_title(page: str, title: str | None) -> None:
    assert find_title(page) == title
