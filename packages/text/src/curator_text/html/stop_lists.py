"""Stop lists: common words of each language, as shipped with jusText.

jusText's thresholds are tuned for these lists. English has 453 words and Russian 4,754, because all
inflected forms are listed; a shorter list would classify most of a page as boilerplate.
"""

from functools import cache
from typing import cast

MODULE = "justext"

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
