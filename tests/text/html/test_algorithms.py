"""Stop lists: jusText and stop_word_density keep running text in each language."""

# ruff: noqa: E501, RUF001 - letters of other scripts are meant.

import pytest
from curator_core import DocumentBatch
from curator_core.testing import run_stages
from curator_text import HtmlExtractor
from curator_text.html import extractor as extractor_module
from curator_text.html.algorithms import LANGUAGES, make_extractor, stop_list

justext = pytest.importorskip("justext")

_PARAGRAPHS = {
    "en": "Four score and seven years ago our fathers brought forth on this continent a new nation, "
    "conceived in Liberty, and dedicated to the proposition that all men are created equal. Now we "
    "are engaged in a great civil war, testing whether that nation can long endure.",
    "ru": "Библиотека открыта каждый день, кроме воскресенья. Каждый, кто хочет, может взять здесь "
    "книги на две недели, причём платить за это не нужно. Если книга понадобится вам дольше, вы "
    "можете позвонить нам, и мы продлим срок, когда её больше никто не ждёт.",
    "tr": "Kütüphane pazar günleri dışında her gün açıktır. İsteyen herkes buradan iki haftalığına "
    "kitap alabilir ve bunun için para ödemesi gerekmez. Kitaba daha uzun süre ihtiyacınız olursa "
    "bizi arayabilirsiniz, başka bekleyen yoksa süreyi uzatırız.",
    "pl": "Biblioteka jest otwarta codziennie oprócz niedziel. Każdy, kto chce, może tutaj wypożyczyć "
    "książki na dwa tygodnie i nie musi za to płacić. Jeżeli ktoś potrzebuje książki dłużej, może "
    "do nas zadzwonić, a my przedłużymy termin, jeśli nikt inny na nią nie czeka.",
    "xx": "Lorem ipsum " * 30,
    "ko": "도서관은 일요일을 제외하고 매일 문을 엽니다. 원하는 사람은 누구나 이곳에서 책을 이 주 동안 빌릴 수 있으며 따로 돈을 낼 필요가 "
    "없습니다. 책이 더 오래 필요하면 저희에게 전화해 주세요. 다른 사람이 기다리지 않으면 기간을 늘려 드립니다. 어린이를 위한 책은 이 층에 "
    "있고 신문과 잡지는 일 층 창가에 있습니다. 시험 기간에는 밤 열 시까지 이용할 수 있습니다.",
}


def _page(language: str) -> str:
    text = _PARAGRAPHS[language]
    menu = "<ul>" + "<li><a href=/x>Home</a></li>" * 20 + "</ul>"
    return f"<html lang={language}><body>{menu}<p>{text}</p><p>{text}</p></body></html>"


@pytest.mark.parametrize("language", _PARAGRAPHS)
def test_justext_keeps_running_text_in_every_language(language: str) -> None:
    found = make_extractor("justext", {})(_page(language), language)
    assert found.split("\n\n") == [_PARAGRAPHS[language].strip()] * 2


@pytest.mark.parametrize("language", _PARAGRAPHS)
def test_stop_word_density_keeps_running_text(language: str) -> None:
    pytest.importorskip("resiliparse")
    found = make_extractor("resiliparse", {"stop_word_density": 0.32})(_page(language), language)
    assert _PARAGRAPHS[language].strip() in found


def test_every_listed_language_has_a_stop_list() -> None:
    assert [code for code in LANGUAGES if not stop_list(code)] == []
    assert stop_list("nb") == stop_list("no") is not None
    assert stop_list("ja") is None


def test_language_without_a_stop_list_is_reported() -> None:
    [problem] = HtmlExtractor("justext", language="ja").check()
    assert "'ja'" in problem


def test_unused_language_is_reported() -> None:
    [problem] = HtmlExtractor(language="en").check()
    assert "stop_word_density" in problem


def test_stop_word_density_without_justext_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extractor_module, "find_spec", lambda name: None)
    [problem] = HtmlExtractor(stop_word_density=0.3).check()
    assert "curator-text[justext]" in problem


def test_justext_needs_a_charset_detector(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "curator_core.model.optional_dependencies.find_spec", lambda name: name != "resiliparse"
    )
    [problem] = HtmlExtractor("justext").check()
    assert "resiliparse" in problem
    assert "curator-text[justext]" in problem


def test_given_language_overrides_the_declared_one() -> None:
    pages = DocumentBatch.from_pylist([{"content": _page("ru").replace("lang=ru", "lang=en")}])
    found = [
        run_stages([HtmlExtractor("justext", language=code)], [pages]).outputs[0].to_pylist()
        for code in ("ru", "en")
    ]
    assert [len(rows[0]["text"]) > 100 for rows in found] == [True, False]
