"""Costs: no function that sees untrusted text takes much more than eight times as long for eight
times as much of it, whatever the text is.
"""

import time
from collections.abc import Callable, Collection
from contextlib import suppress
from importlib.util import find_spec
from inspect import Parameter, signature

import pyarrow as pa
import pytest
from curator_core import DocumentBatch, ProcessingStage
from curator_core.plugins import plugins
from curator_core.reading.lines import Lines
from curator_core.reading.records import parse
from curator_core.secrets import redact
from curator_core.testing import run_stage
from curator_text.contamination.wording import words_of
from curator_text.html.algorithms import MODULES, OPTIONS, extractor
from curator_text.html.charsets import decoded
from curator_text.html.heads import language_of, title_of
from curator_text.sources.latex import cleaned
from curator_text.sources.payloads import media_type, payload_of
from curator_text.sources.wikitext import plain_text

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

EXAMPLES = {
    "text.c4_bad_words_filter": {"bad_words": {"en": ["bad", "word"]}},
    "text.document_splitter": {"separator": "\n"},
    "text.line_remover": {"patterns": ["bad", "word"]},
    "text.substring_filter": {"substring": "bad", "position": "any"},
    "text.token_count_filter": {"tokenizer": str.split},
    "text.unigram_log_prob_filter": {"counts": {"bad": 1, "word": 2}},
}
FOR_URLS = {
    "text.blocked_domains_filter": {"domains": ["bad.example"]},
    "text.blocked_urls_filter": {"urls": ["http://bad.example/a"]},
    "text.url_words_filter": {"words": ["bad"]},
}
OTHERS = {"text.document_joiner", "text.html_extractor"}
"""One needs columns that others make; of the other the parts are looked at."""


def _texts(size: int) -> dict[str, str]:
    texts = {name: (piece * size)[:size] for name, piece in PIECES.items()}
    for name, (often, once, long) in HEADS.items():
        heads = often * (size // 8 // len(often))
        texts[f"{name} at length"] = heads + once + long * (size - len(heads) - len(once))
    return texts


def _stages() -> dict[str, ProcessingStage]:
    """Every registered stage that reads a text and needs nothing beside it."""
    found = {}
    for name in sorted(plugins().stages):
        kind = plugins().stages.load(name)
        options = EXAMPLES.get(name) or FOR_URLS.get(name) or {}
        if not (name.startswith("text.") and isinstance(kind, type)) or name in OTHERS:
            continue
        needed = [p.name for p in signature(kind).parameters.values() if p.default is p.empty
                  and p.kind not in (Parameter.VAR_KEYWORD, Parameter.VAR_POSITIONAL)]  # fmt: skip
        if set(needed) <= set(options):
            stage = kind(**options)
            if set(stage.inputs()) & {"text", "url"} and not list(stage.check()):
                found[name] = stage
    return found


STAGES = _stages()
CHUNKED = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
FUNCTIONS: dict[str, Callable[[str], object]] = {
    "charsets": lambda text: decoded(text.encode()),
    "languages of pages": language_of,
    "titles of pages": title_of,
    "LaTeX": cleaned,
    "wikitext": plain_text,
    "answers in archives": lambda text: payload_of(f"HTTP/1.1 200 OK\n{text}".encode(), 10**6),
    "bodies in archives": lambda text: payload_of(f"{CHUNKED}{text}".encode(), 10**6),
    "media types": media_type,
    "secrets": redact,
    "JSON lines": lambda text: parse(Lines(text.encode())),
    "words of benchmarks": words_of,
}
GUARDED = {"resiliparse": {"divs"}}
"""What costs a library too much all the same: page_timeout_s ends it."""
EXTRACTORS = [name for name in OPTIONS if find_spec(MODULES[name])]


def test_stages_are_found() -> None:
    assert len(STAGES) > 50
    assert set(EXAMPLES) | set(FOR_URLS) <= set(STAGES)


@pytest.mark.parametrize("name", STAGES)
def test_stages_take_time_in_proportion_to_the_text(name: str) -> None:
    stage = STAGES[name]

    def process(text: str) -> object:
        table = pa.table({"text": [text], "url": [text]})
        return run_stage(stage, DocumentBatch(table))

    process("once, so that nothing is loaded later")
    _check(process)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_take_time_in_proportion_to_the_text(name: str) -> None:
    _check(FUNCTIONS[name])


@pytest.mark.parametrize("name", EXTRACTORS)
def test_extractors_of_pages_take_time_in_proportion_to_the_page(name: str) -> None:
    extract = extractor(name, {})

    def process(page: str) -> None:
        with suppress(Exception):  # what libraries cannot read is set aside by the process
            extract(page, "en")

    process("<p>once</p>")
    _check(process, GUARDED.get(name, set()))


def _check(function: Callable[[str], object], guarded: Collection[str] = ()) -> None:
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
