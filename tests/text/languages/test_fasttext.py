"""The share-alike model, where it is installed."""

import pytest
from curator_text.languages.models import FASTTEXT, bundled_model, missing_for, teller
from hypothesis import given
from hypothesis import strategies as st

if missing_for(FASTTEXT):
    pytest.skip("the extra lid is not installed", allow_module_level=True)


def test_it_tells_languages() -> None:
    text = "Der Zug ist nicht pünktlich,\nund die Leute warten auf dem Bahnsteig."
    language, score = teller(FASTTEXT)(text)
    assert language == "de"
    assert score > 0.9


@given(st.text())
def test_every_text_has_an_answer(text: str) -> None:
    language, score = teller(FASTTEXT)(text)
    assert language.isalpha()
    assert 0 <= score <= 1


@pytest.mark.parametrize("text", ["", "\x00", "\ud800 the cat", "\n\n", "a\nb"])
def test_hostile_texts_have_one_too(text: str) -> None:
    assert 0 <= teller(FASTTEXT)(text)[1] <= 1


def test_a_model_of_ones_own_is_a_path() -> None:
    assert (
        teller(str(bundled_model()))("Les gens attendent sur le quai avec leurs bagages.")[0]
        == "fr"
    )
