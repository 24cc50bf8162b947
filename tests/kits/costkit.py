"""Costs: no function that sees untrusted text takes much more than eight times as long for eight
times as much of it, whatever the text is.
"""

import time
from collections.abc import Callable, Collection

SIZES = ((500, 4_000), (4_000, 32_000))
"""Characters. Some functions look at the beginning of a page only."""

FREE_S = 0.25
"""What costs less than this is not looked at: it may be noise, and harms nobody."""

MOST_TIMES = 24
"""A quadratic cost grows 64 times, a linear one 8 times; what is between is for a busy machine."""

PIECES = {
    "letters": "a",
    "capitals": "AB",
    "digits": "1",
    "digits and dots": "1.",
    "digits and blanks": "1 ",
    "digits and hyphens": "12-",
    "digits and colons": "1:",
    "blanks": " ",
    "wide blanks": "\u3000",
    "lines": "\n",
    "lines and blanks": "\n ",
    "returns": "\r",
    "short lines": "a\n",
    "words": "ab ",
    "dots": ".",
    "words and dots": "a.",
    "at signs": "a@",
    "dotted names": "a.a@",
    "hyphens": "a-",
    "underscores": "__A",
    "quotes": "\"'",
    "apostrophes": "''",
    "brackets": "[",
    "open pairs": "([",
    "braces": "{",
    "double braces": "{{",
    "open and shut": "{}",
    "tables": "{|",
    "links": "[[",
    "external links": "[//a",
    "external links with dots": "[http://a.",
    "entities": "&amp;",
    "half entities": "&a",
    "numbers of signs": "&#1",
    "escapes": "%2",
    "URL heads": "http://",
    "URLs": "http://a.b/c ",
    "www": "www.",
    "backslashes": "\\",
    "commands": "\\a",
    "commands and braces": "\\a{",
    "environments": "\\begin{a}",
    "percent signs": "%",
    "dollars": "$",
    "hashes": "# ",
    "stars": "*",
    "double stars": "**a ",
    "underlines": "_a ",
    "back ticks": "`",
    "fences": "```\n",
    "pictures": "![a](",
    "tags": "<a",
    "divs": "<div>",
    "divs that end": "</div>",
    "attributes": "<a a=",
    "comments": "<!--",
    "instructions": "<?",
    "scripts": "<script>",
    "titles": "<title ",
    "metas": "<meta ",
    "htmls": "<html ",
    "charsets": "<meta charset=",
    "languages": "<html lang=",
    "slashes": "/*",
    "triple quotes": '"""',
    "code comments": "# a\n//",
    "combining marks": "e\u0301",
    "marks alone": "\u0301",
    "marks of two kinds": "\u0301\u0316",
    "marks of two kinds, in order": "\u0316\u0301",
    "emoji": "\U0001f468\u200d",
    "Chinese": "\u597d",
    "Thai": "\u0e01\u0e34",
    "NUL": "\0",
    "IBANs": "DE00 ",
    "secrets": "?token=",
    "user names": "a://a:",
    "CSV": '"a,',
    "JSON": '{"a":',
    "JSON lists": "[1,",
}
HEADS = {
    "languages": ("<html ", "lang=", " "),
    "charsets": ("<meta ", "charset=", " "),
    "titles": ("<title ", "a", " "),
}
"""What begins often, and then goes on for long."""


def _texts(size: int) -> dict[str, str]:
    texts = {name: (piece * size)[:size] for name, piece in PIECES.items()}
    for name, (often, once, long) in HEADS.items():
        heads = often * (size // 8 // len(often))
        texts[f"{name} at length"] = heads + once + long * (size - len(heads) - len(once))
    return texts


def check_cost(function: Callable[[str], object], guarded: Collection[str] = ()) -> None:
    """Fail for texts, but those named in `guarded`, whose cost grows out of proportion."""
    worse = {}
    for small, large in SIZES:
        shorter = _texts(small)
        for name, text in _texts(large).items():
            if name in guarded or (taken := _seconds(function, text)) < FREE_S:
                continue
            least = min(_seconds(function, shorter[name]) for _ in range(3))
            most = min(taken, *(_seconds(function, text) for _ in range(2)))
            if most > max(FREE_S, MOST_TIMES * least):
                worse[name] = f"{least:.3f} s for {small}, {most:.3f} s for {large} characters"
        assert not worse


def _seconds(function: Callable[[str], object], text: str) -> float:
    started = time.process_time()
    function(text)
    return time.process_time() - started
