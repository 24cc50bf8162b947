"""The share-alike model, if it is installed."""

import pytest
from curator_text.language_id.models import FASTTEXT, bundled_model, load_identifier, model_problem
from hypothesis import given
from hypothesis import strategies as st

if model_problem(FASTTEXT):
    pytest.skip("the extra lid is not installed", allow_module_level=True)


def test_bundled_model_identifies_languages() -> None:
    text = "Der Zug ist nicht pünktlich,\nund die Leute warten auf dem Bahnsteig."
    language, score = load_identifier(FASTTEXT)(text)
    assert language == "de"
    assert score > 0.9


@given(st.text())
def test_every_text_gets_a_language(text: str) -> None:
    language, score = load_identifier(FASTTEXT)(text)
    assert language.isalpha()
    assert 0 <= score <= 1


@pytest.mark.parametrize("text", ["", "\x00", "\ud800 the cat", "\n\n", "a\nb"])
def test_hostile_texts_get_a_language(text: str) -> None:
    assert 0 <= load_identifier(FASTTEXT)(text)[1] <= 1


def test_model_can_be_a_path() -> None:
    assert (
        load_identifier(str(bundled_model()))("Les gens attendent sur le quai avec leurs bagages.")[
            0
        ]
        == "fr"
    )
