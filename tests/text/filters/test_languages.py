# ruff: noqa: RUF001 - letters of other scripts are meant.

import pytest
from curator_text import StopWordLanguageFilter
from curator_text.filters.languages import stop_word_shares

PAGES = {
    "de": "Der Zug ist nicht pünktlich, und die Leute warten auf dem Bahnsteig mit ihren Koffern.",
    "en": "The train is not on time, and the people are waiting on the platform with their bags.",
    "es": "El tren no es puntual y la gente espera en el andén con sus maletas para la ciudad.",
    "fr": "Le train ne part pas à l'heure et les gens attendent sur le quai avec leurs bagages.",
    "it": "Il treno non è in orario e la gente aspetta sul binario con le valigie della nonna.",
    "nl": "De trein is niet op tijd en de mensen wachten op het perron met hun koffers.",
    "pl": "Pociąg nie jest na czas i ludzie czekają na peronie z walizkami do domu.",
    "pt": "O trem não é pontual e as pessoas esperam na plataforma com as malas do tio.",
    "ru": "Поезд не пришёл по расписанию, и люди ждут на платформе с чемоданами.",
}


@pytest.mark.parametrize("language", PAGES)
def test_each_language_passes_its_own_filter_only(language: str) -> None:
    passing = {code for code in PAGES if StopWordLanguageFilter(code).passes(PAGES[language])}
    assert passing == {language}


def test_the_share_is_of_all_words() -> None:
    assert stop_word_shares("The cat saw it")["en"] == 0.5
    assert stop_word_shares("12 34 !")["en"] == 0.0


def test_scripts_without_spaces_are_another_language() -> None:
    assert not StopWordLanguageFilter().passes("今天天气很好，我们去公园散步。")


def test_too_few_stop_words_are_no_proof() -> None:
    keywords = "cheap flights hotel booking the deals discount voucher travel cruise beach"
    assert not StopWordLanguageFilter().passes(keywords)
    assert StopWordLanguageFilter(min_stop_words_ratio=0.05).passes(keywords)


def test_an_unknown_language_is_a_problem_of_the_plan() -> None:
    assert list(StopWordLanguageFilter("engl").check()) == [
        "no stop words for language 'engl' (known: de, en, es, fr, it, nl, pl, pt, ru)"
    ]
    assert not list(StopWordLanguageFilter("fr").check())
