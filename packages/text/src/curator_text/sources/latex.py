"""LaTeX: remove the parts of a paper's source that readers never see."""

import re

_COMMENT = re.compile(r"(?<!\\)((?:\\\\){0,8})%[^\n]*\n?")
_SIMPLE = re.compile(
    r"\\(?:newcommand|renewcommand|providecommand)\*?\s{0,9}\{?\\([A-Za-z]{1,60})\}?"
    r"\s{0,9}\{([^{}\\#\n]{0,100}|\{?\\[A-Za-z]{1,60}\s?[^{}\\#\n]{0,60}\}?)\}"
    r"|\\def\s{0,9}\\([A-Za-z]{1,60})\s{0,9}\{([^{}\\#\n]{0,100})\}"
)
_WORD = re.compile(r"\\([A-Za-z]{1,60})(?![A-Za-z])")
_BIBLIOGRAPHY = re.compile(r"\\(?:bibliographystyle|bibliography|addbibresource|printbibliography)"
                           r"(?:\s{0,9}\{[^{}\n]{0,500}\})?")  # fmt: skip
_BLANK_LINES = re.compile(r"\n\s{0,200}\n\s{0,200}\n")


def cleaned(source: str) -> str:
    """Return the document body without comments and bibliography, with simple macros expanded."""
    source = _COMMENT.sub(r"\1", source)
    macros = _macros(source)
    text = _between(source, r"\begin{document}", r"\end{document}")
    if macros:
        text = _WORD.sub(lambda found: macros.get(found[1], found[0]), text)
    for name in ("thebibliography", "references", "REFERENCES"):
        text = _without(text, rf"\begin{{{name}}}", rf"\end{{{name}}}")
    return _BLANK_LINES.sub("\n\n", _BIBLIOGRAPHY.sub("", text)).strip()


def _macros(source: str) -> dict[str, str]:
    """Map macro names to their text. Macros are expanded only once, so recursion cannot grow."""
    return {found[1] or found[3]: found[2] or found[4] or "" for found in _SIMPLE.finditer(source)}


def _between(text: str, begin: str, end: str) -> str:
    start = text.find(begin)
    if start < 0:
        return text
    stop = text.rfind(end)
    return text[start + len(begin) : stop if stop > start else None]


def _without(text: str, begin: str, end: str) -> str:
    start = text.find(begin)
    if start < 0:
        return text
    stop = text.find(end, start)
    return text[:start] + (text[stop + len(end) :] if stop >= 0 else "")
