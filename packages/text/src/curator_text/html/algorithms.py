"""Algorithms: the libraries that extract the main text of a page, their options and stop lists."""

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, Literal, TypeAlias, cast

Algorithm: TypeAlias = Literal["resiliparse", "trafilatura", "justext"]

Extract: TypeAlias = Callable[[str, str | None], str]
"""Extracts text from a page, given its language if known."""

OPTIONS: dict[str, dict[str, Any]] = {
    "resiliparse": {
        "main_content": True,
        "alt_texts": False,
        "links": False,
        "stop_word_density": None,
    },
    "trafilatura": {
        "favor_precision": False,
        "favor_recall": False,
        "include_comments": False,
        "include_tables": True,
        "links": False,
        "stop_word_density": None,
    },
    "justext": {
        "length_low": 70,
        "length_high": 200,
        "stopwords_low": 0.30,
        "stopwords_high": 0.32,
        "max_link_density": 0.2,
        "max_heading_distance": 200,
        "no_headings": False,
    },
}
"""Options of each algorithm, with their defaults."""

MODULES = {"resiliparse": "resiliparse", "trafilatura": "trafilatura", "justext": "justext"}
EXTRAS = {"resiliparse": "web", "trafilatura": "trafilatura", "justext": "justext"}


def make_extractor(algorithm: str, options: Mapping[str, Any]) -> Extract:
    """Return an algorithm as a function; options not given have the defaults in OPTIONS."""
    chosen = {**OPTIONS[algorithm], **options}
    if algorithm == "justext":
        return _justext(chosen)
    density = chosen.pop("stop_word_density")
    extract = _resiliparse(chosen) if algorithm == "resiliparse" else _trafilatura(chosen)
    if density:
        return partial(_keep_dense_lines, extract, density)
    return lambda page, _: extract(page)


def _resiliparse(options: dict[str, Any]) -> Callable[[str], str]:
    from resiliparse.extract.html2text import extract_plain_text

    return partial(extract_plain_text, **options)


def _trafilatura(options: dict[str, Any]) -> Callable[[str], str]:
    """Deduplication is off, because results would depend on the pages seen before."""
    from trafilatura import extract

    links = options.pop("links")
    chosen: Any = partial(extract, deduplicate=False, include_links=links, **options)
    return lambda page: chosen(page) or ""


def _justext(options: dict[str, Any]) -> Extract:
    from justext import justext

    # Without a stop list, the thresholds are 0 and only lengths and links decide.
    no_words = {**options, "stopwords_low": 0.0, "stopwords_high": 0.0}

    def extract(page: str, language: str | None) -> str:
        words = stop_list(language)
        found = justext(page, words, **options) if words else justext(page, (), **no_words)
        return "\n\n".join(one.text for one in found if not one.is_boilerplate)

    return extract


def _keep_dense_lines(
    extract: Callable[[str], str], density: float, page: str, language: str | None
) -> str:
    """Keep lines with enough stop words; keep all lines if the language has no stop list."""
    words = stop_list(language)
    text = extract(page)
    if not words:
        return text
    return "\n".join(line for line in text.split("\n") if _stop_word_share(line, words) >= density)


def _stop_word_share(line: str, stop_words: frozenset[str]) -> float:
    words = line.lower().split()
    return sum(word in stop_words for word in words) / len(words) if words else 1.0


STOP_LIST_MODULE = "justext"

# Korean is left out: its particles are parts of words, so texts never have enough stop words.
_NAMES = {
    "af": "Afrikaans", "an": "Aragonese", "ar": "Arabic", "ast": "Asturian", "az": "Azerbaijani",
    "be": "Belarusian", "bg": "Bulgarian", "bn": "Bengali", "bpy": "Bishnupriya_Manipuri",
    "br": "Breton", "bs": "Bosnian", "ca": "Catalan", "ceb": "Cebuano", "cs": "Czech",
    "cv": "Chuvash", "cy": "Welsh", "da": "Danish", "de": "German", "el": "Greek", "en": "English",
    "eo": "Esperanto", "es": "Spanish", "et": "Estonian", "eu": "Basque", "fa": "Persian",
    "fi": "Finnish", "fr": "French", "fy": "West_Frisian", "ga": "Irish", "gl": "Galician",
    "gu": "Gujarati", "he": "Hebrew", "hi": "Hindi", "hr": "Croatian", "ht": "Haitian",
    "hu": "Hungarian", "hy": "Armenian", "id": "Indonesian", "ig": "Igbo", "io": "Ido",
    "is": "Icelandic", "it": "Italian", "jv": "Javanese", "ka": "Georgian", "kk": "Kazakh",
    "kn": "Kannada", "ku": "Kurdish", "ky": "Kyrgyz", "la": "Latin", "lb": "Luxembourgish",
    "lmo": "Lombard", "lt": "Lithuanian", "lv": "Latvian", "mk": "Macedonian", "ml": "Malayalam",
    "mr": "Marathi", "ms": "Malay", "mt": "Maltese", "nap": "Neapolitan", "nds": "Low_Saxon",
    "ne": "Nepali", "new": "Newar", "nl": "Dutch", "nn": "Norwegian_Nynorsk",
    "no": "Norwegian_Bokmal", "oc": "Occitan", "pl": "Polish", "pms": "Piedmontese",
    "pnb": "Western_Panjabi", "pt": "Portuguese", "qu": "Quechua", "ro": "Romanian",
    "rup": "Aromanian", "ru": "Russian", "scn": "Sicilian", "sgs": "Samogitian",
    "sh": "Serbo_Croatian", "sk": "Slovak", "sl": "Slovenian", "sq": "Albanian", "sr": "Serbian",
    "su": "Sundanese", "sv": "Swedish", "sw": "Swahili", "ta": "Tamil", "te": "Telugu",
    "tk": "Turkmen", "tl": "Tagalog", "tr": "Turkish", "uk": "Ukrainian", "ur": "Urdu",
    "uz": "Uzbek", "vi": "Vietnamese", "vo": "Volapuk", "wa": "Walloon", "war": "Waray_Waray",
    "yo": "Yoruba",
}  # fmt: skip
_OTHER_CODES = {"fil": "tl", "in": "id", "iw": "he", "jw": "jv", "mo": "ro", "nb": "no"}

LANGUAGES = tuple(sorted(_NAMES))
"""Codes of all languages that have a stop list."""


@cache
def stop_list(language: str | None) -> frozenset[str] | None:
    """Return a language's stop list in lower case; None if there is none."""
    name = _NAMES.get(_OTHER_CODES.get(language or "", language or ""))
    if name is None:
        return None
    from justext import get_stoplist

    return frozenset(word.lower() for word in cast(frozenset[str], get_stoplist(name)))
