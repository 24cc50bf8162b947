# ruff: noqa: RUF001 - letters of other scripts are meant.

import pytest
from curator_core import DocumentBatch
from curator_core.testing import check_stage
from curator_text import LanguageFilter, StopWordLanguageFilter
from curator_text.filters.languages import stop_word_shares

PAGES = {
    "ar": "القطار ليس في موعده وقد كان على كل من في المحطة أن ينتظر بعد ذلك مع حقائبه.",
    "bg": "Влакът не е навреме и хората чакат на перона с куфарите си, но ще бъде така още час.",
    "ca": "El tren no és puntual i la gent espera a l'andana amb les seves maletes des del matí.",
    "cs": "Vlak nejede včas a lidé čekají na nástupišti se svými kufry, protože to není možné.",
    "da": "Toget er ikke til tiden, og folk venter på perronen med deres kufferter, hvor det blev.",
    "el": "Το τρένο δεν είναι στην ώρα του και οι άνθρωποι περιμένουν με τις βαλίτσες.",
    "fa": "قطار به موقع نیست و مردم با چمدان‌های خود در ایستگاه منتظر هستند تا این را ببینند.",
    "fi": "Juna ei ole ajoissa, ja ihmiset odottavat laiturilla, mutta se on jo nyt myöhässä.",
    "he": "הרכבת לא הגיעה, אבל כל האנשים עוד היו על הרציף עם המזוודות של הילדים, כי אין מה.",
    "hr": "Vlak nije stigao na vrijeme i ljudi čekaju na peronu, ali će biti samo još kao što je.",
    "hu": "A vonat nem érkezett meg, és az emberek már csak a peronon várnak, de ez még nem volt.",
    "id": "Kereta itu belum datang, jadi semua orang masih menunggu karena bisa saja telat.",
    "no": "Toget er ikke i rute, og folk ble stående på perrongen med koffertene etter at det kom.",
    "ro": "Trenul nu este la timp și oamenii care așteaptă pe peron sunt cu valizele din oraș.",
    "sv": "Tåget är inte i tid, och alla väntar på perrongen med sina väskor när det inte kommer.",
    "tr": "Tren gelmedi ve insanlar için bu çok uzun ama ne kadar olduğu daha belli değil.",
    "uk": "Поїзд не прийшов за розкладом, але люди вже чекають на платформі, бо він був також тут.",
    "de": "Der Zug ist nicht pünktlich, und die Leute warten auf dem Bahnsteig mit ihren Koffern.",
    "en": "The train is not on time, and the people are waiting on the platform with their bags.",
    "es": "El tren no es puntual y la gente espera en el andén con sus maletas para la ciudad.",
    "fr": "Le train ne part pas à l'heure et les gens attendent sur le quai avec leurs bagages.",
    "it": "Il treno non è in orario e la gente aspetta sul binario con le valigie della nonna.",
    "nl": "De trein is niet op tijd en de mensen wachten op het perron met hun koffers.",
    "pl": "Pociąg nie jest na czas i ludzie czekają na peronie z walizkami do domu.",
    "pt": "O trem não é pontual e as pessoas esperam na plataforma com as malas do tio.",
    "ru": "Поезд не пришёл, и люди так долго ждут его на платформе, что это уже всё равно.",
}


@pytest.mark.parametrize("language", PAGES)
def test_text_passes_the_filter_of_its_language_only(language: str) -> None:
    page = PAGES[language]
    passing = {code for code in PAGES if StopWordLanguageFilter(code).passes(page)}
    assert passing == {language}


def test_share_is_relative_to_all_words() -> None:
    assert stop_word_shares("The cat saw it")["en"] == 0.5
    assert stop_word_shares("12 34 !")["en"] == 0.0


def test_text_without_spaces_is_another_language() -> None:
    assert not StopWordLanguageFilter().passes("今天天气很好，我们去公园散步。")


def test_too_few_stop_words_do_not_decide() -> None:
    keywords = "cheap flights hotel booking the deals discount voucher travel cruise beach"
    assert not StopWordLanguageFilter().passes(keywords)
    assert StopWordLanguageFilter(min_stop_words_ratio=0.05).passes(keywords)


def test_unknown_language_is_a_problem_of_the_plan() -> None:
    [problem] = StopWordLanguageFilter("engl").check()
    assert "'engl'" in problem
    assert "ar, bg, ca" in problem
    assert not list(StopWordLanguageFilter("fr").check())


@pytest.fixture(scope="module")
def model() -> None:
    pytest.importorskip("pycld2")
    pytest.importorskip("py3langid")


@pytest.mark.usefixtures("model")
@pytest.mark.parametrize("language", PAGES)
def test_language_filter_uses_a_model(language: str) -> None:
    assert LanguageFilter([language]).passes(PAGES[language])
    assert not LanguageFilter(sorted(set(PAGES) - {language})).passes(PAGES[language])


@pytest.mark.usefixtures("model")
def test_filter_fulfills_the_stage_contract() -> None:
    rows = [{"text": text} for text in (*PAGES.values(), None, "")]
    check_stage(LanguageFilter(["en"], score_field="sure"), DocumentBatch.from_pylist(rows))


@pytest.mark.usefixtures("model")
def test_several_languages_can_be_kept() -> None:
    rule = LanguageFilter(["en", "de"])
    assert [code for code in PAGES if rule.passes(PAGES[code])] == ["de", "en"]
    assert rule.reason == "language is not en or de"
    assert not LanguageFilter(["en"], min_score=1.01).passes(PAGES["en"])
    assert not LanguageFilter(["en"], min_score=0).passes(PAGES["de"])


@pytest.mark.usefixtures("model")
def test_unknown_codes_are_problems_of_the_plan() -> None:
    unknown, upper_case = LanguageFilter(["english", "EN"]).check()
    assert "'english' is not a code" in unknown
    assert "'EN': write 'en'" in upper_case
    variant, written = LanguageFilter(["zh-Hant", "en", "nb"]).check()
    assert "'zh-Hant': write 'zh'" in variant
    assert "'nb': write 'no'" in written
    [problem] = LanguageFilter("en").check()
    assert "must be a list: [en]" in problem
    [problem] = LanguageFilter([]).check()
    assert "languages is empty" in problem
