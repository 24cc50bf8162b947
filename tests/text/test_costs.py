"""Costs: no function that sees untrusted text takes much more than eight times as long for eight
times as much of it, whatever the text is.
"""

from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from inspect import Parameter, signature

import pyarrow as pa
import pytest
from costkit import check_cost
from curator_core import DocumentBatch, ProcessingStage
from curator_core.plugins.registry import plugins
from curator_core.testing import run_stage
from curator_text.decontamination.index import split_words
from curator_text.html.algorithms import MODULES, OPTIONS, make_extractor
from curator_text.html.charset import decode_page
from curator_text.html.sandbox_child import find_language, find_title
from curator_text.readers.arxiv import clean_latex
from curator_text.readers.http_response import parse_media_type, parse_response
from curator_text.readers.wikitext import wikitext_to_text

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


def _stages() -> dict[str, ProcessingStage]:
    """Return every registered stage that reads a text and needs nothing else."""
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
    "charsets": lambda text: decode_page(text.encode()),
    "languages of pages": find_language,
    "titles of pages": find_title,
    "LaTeX": clean_latex,
    "wikitext": wikitext_to_text,
    "answers in archives": lambda text: parse_response(f"HTTP/1.1 200 OK\n{text}".encode(), 10**6),
    "bodies in archives": lambda text: parse_response(f"{CHUNKED}{text}".encode(), 10**6),
    "media types": parse_media_type,
    "words of benchmarks": split_words,
}
GUARDED = {"resiliparse": {"divs"}}
"""What costs a library too much all the same: page_timeout_s ends it."""
EXTRACTORS = [name for name in OPTIONS if find_spec(MODULES[name])]


def test_every_stage_is_measured() -> None:
    assert len(STAGES) > 50
    assert set(EXAMPLES) | set(FOR_URLS) <= set(STAGES)


@pytest.mark.parametrize("name", STAGES)
def test_time_of_stages_is_linear(name: str) -> None:
    stage = STAGES[name]

    def process(text: str) -> object:
        table = pa.table({"text": [text], "url": [text]})
        return run_stage(stage, DocumentBatch(table))

    process("once, so that nothing is loaded later")
    check_cost(process)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_time_of_functions_is_linear(name: str) -> None:
    check_cost(FUNCTIONS[name])


@pytest.mark.parametrize("name", EXTRACTORS)
def test_time_of_html_extractors_is_linear(name: str) -> None:
    extract = make_extractor(name, {})

    def process(page: str) -> None:
        with suppress(Exception):  # errors are handled by the calling process
            extract(page, "en")

    process("<p>once</p>")
    check_cost(process, GUARDED.get(name, set()))
