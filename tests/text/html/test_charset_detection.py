# ruff: noqa: E501, RUF001 - letters of other scripts are meant.
"""Pages that declare no charset: each text is decoded from bytes in its usual ones."""

import pytest
from curator_text.html.charset import decode_page

pytest.importorskip("resiliparse")

_TEXTS = {
    "de": "Die Bücher stehen im größten Regal der Bücherei, und wer möchte, darf sie für zwei Wochen "
    "ausleihen. Für Schüler ist das natürlich kostenlos.",
    "fr": "Les élèves ont étudié toute la matinée à la bibliothèque. Après le déjeuner, ils sont allés "
    "se promener près de la forêt où le château a été bâti.",
    "es": "El niño comió una manzana mientras su mamá leía el periódico. Mañana habrá una reunión en la "
    "escuela y también vendrá el señor Muñoz.",
    "pl": "Książki stoją na największej półce w bibliotece, a każdy, kto chce, może je wypożyczyć na dwa "
    "tygodnie. Dzieci przyszły wcześnie i długo czytały.",
    "cs": "Knihy stojí na největší polici v knihovně a každý, kdo chce, si je může půjčit na dva týdny. "
    "Děti přišly brzy a dlouho četly příběhy o zvířatech.",
    "ru": "Книги стоят на самой большой полке библиотеки, и каждый желающий может взять их на две "
    "недели. Дети пришли рано и долго читали рассказы о животных.",
    "el": "Τα βιβλία βρίσκονται στο μεγαλύτερο ράφι της βιβλιοθήκης και όποιος θέλει μπορεί να τα "
    "δανειστεί για δύο εβδομάδες χωρίς καμία χρέωση.",
    "tr": "Kitaplar kütüphanenin en büyük rafında duruyor ve isteyen herkes onları iki haftalığına ödünç "
    "alabiliyor. Çocuklar bugün erken geldi ve uzun süre okudu.",
    "th": "ห้องสมุดของโรงเรียนเปิดทุกวัน ยกเว้นวันอาทิตย์ นักเรียนสามารถยืมหนังสือกลับไปอ่านที่บ้านได้เป็นเวลาสองสัปดาห์โดยไม่ต้องเสียค่าใช้จ่าย",
    "ja": "本は図書館の一番大きな棚に並んでいて、借りたい人は誰でも二週間借りることができます。子どもたちは朝早く来て、長い間読んでいました。",
    "ko": "책은 도서관에서 가장 큰 책장에 꽂혀 있으며 원하는 사람은 누구나 이 주 동안 빌릴 수 있습니다. 아이들은 일찍 와서 오래 읽었습니다.",
    "zh-Hans": "书放在图书馆最大的书架上,想借的人都可以借两个星期。孩子们今天早上来得很早,读了很久的书才回家吃饭。",
    "zh-Hant": "書放在圖書館最大的書架上,想借的人都可以借兩個星期。孩子們今天早上來得很早,讀了很久的書才回家吃飯。",
}

_CHARSETS = [
    ("de", "cp1252"), ("fr", "cp1252"), ("es", "cp1252"), ("pl", "cp1250"), ("pl", "iso8859-2"),
    ("cs", "cp1250"), ("ru", "cp1251"), ("ru", "koi8-r"), ("ru", "cp866"), ("el", "cp1253"),
    ("el", "iso8859-7"), ("tr", "cp1254"), ("th", "cp874"), ("ja", "cp932"), ("ja", "euc_jp"),
    ("ja", "iso2022_jp"), ("ko", "cp949"), ("zh-Hans", "gb18030"), ("zh-Hant", "big5"),
]  # fmt: skip


def _page(text: str, charset: str) -> bytes:
    return f"<html><head><title>x</title></head><body><p>{text}</p></body></html>".encode(charset)


@pytest.mark.parametrize(("language", "charset"), _CHARSETS)
def test_undeclared_charset_is_detected(language: str, charset: str) -> None:
    assert _TEXTS[language] in decode_page(_page(_TEXTS[language], charset))


def test_markup_does_not_mislead_the_detector() -> None:
    script = "<script>" + "var a = 1; " * 20_000 + "</script>"
    assert _TEXTS["ru"] in decode_page(_page(script + _TEXTS["ru"] + script, "cp1251"))


@pytest.mark.parametrize("cut", [1, 2])
def test_truncated_utf_8_is_decoded_as_utf_8(cut: int) -> None:
    page = ("<p>" + _TEXTS["ja"]).encode()
    assert decode_page(page[:-cut]).startswith("<p>" + _TEXTS["ja"][:-1])


def test_damaged_utf_8_is_decoded_as_utf_8() -> None:
    text = _TEXTS["de"] * 5
    assert decode_page(text.encode() + b"\xff") == text + "\ufffd"


@pytest.mark.parametrize("charset", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_a_mark_is_recognized(charset: str) -> None:
    assert _TEXTS["de"] in decode_page(_page(_TEXTS["de"], charset))
