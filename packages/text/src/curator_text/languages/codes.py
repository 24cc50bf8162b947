"""Language codes: one code per language, whichever name a model uses."""

UNDETERMINED = "und"

_OTHER_NAMES = {
    "in": "id",
    "iw": "he",
    "ji": "yi",
    "jw": "jv",
    "mo": "ro",
    "nb": "no",
    "nn": "no",
    "sh": "sr",
    "un": UNDETERMINED,
    "wuu": "zh",
    "yue": "zh",
    "zxx": UNDETERMINED,
}


def language_code(given: str) -> str:
    """Normalize a code: `zh` for `zh-Hant`, `no` for `nb`, `und` for undetermined ones."""
    code = given.partition("-")[0].partition("_")[0].lower()
    return UNDETERMINED if code == "xx" else _OTHER_NAMES.get(code, code)
