"""Scripts: find which scripts the letters of a text belong to."""

import unicodedata
from collections import Counter
from functools import lru_cache

NO_SCRIPT = "None"
OTHER = "Other"

SCRIPTS = (
    "Arabic",
    "Armenian",
    "Bengali",
    "Bopomofo",
    "Cherokee",
    "Coptic",
    "Cyrillic",
    "Devanagari",
    "Ethiopic",
    "Georgian",
    "Greek",
    "Gujarati",
    "Gurmukhi",
    "Han",
    "Hangul",
    "Hebrew",
    "Hiragana",
    "Kannada",
    "Katakana",
    "Khmer",
    "Lao",
    "Latin",
    "Malayalam",
    "Mongolian",
    "Myanmar",
    "Oriya",
    "Sinhala",
    "Syriac",
    "Tamil",
    "Telugu",
    "Thaana",
    "Thai",
    "Tibetan",
    "Yi",
)

_BY_NAME = {script.upper(): script for script in SCRIPTS} | {"CJK": "Han", "KANGXI": "Han"}
_WIDTHS = ("FULLWIDTH ", "HALFWIDTH ")


def script_shares(text: str) -> dict[str, float]:
    """Return the share of letters for each script in the text, largest first.

    Digits, punctuation and marks without a script do not count.
    """
    found: Counter[str] = Counter()
    for character, times in Counter(text).items():
        script = _script_of(character)
        if script is not None:
            found[script] += times
    letters = found.total()
    ranked = sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))
    return {script: times / letters for script, times in ranked}


def main_script(text: str) -> tuple[str, float]:
    """Return the script of most letters and its share; `None` and 0 without letters."""
    return next(iter(script_shares(text).items()), (NO_SCRIPT, 0.0))


@lru_cache(maxsize=1 << 16)
def _script_of(character: str) -> str | None:
    """Derive the script from the character's Unicode name, because Python has no script table."""
    if unicodedata.category(character)[0] not in "LM":
        return None
    name = unicodedata.name(character, "")
    for width in _WIDTHS:
        name = name.removeprefix(width)
    script = _BY_NAME.get(name.partition(" ")[0])
    if script is None and unicodedata.category(character)[0] == "L":
        return OTHER
    return script
