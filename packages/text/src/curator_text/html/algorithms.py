"""Algorithms: the libraries that extract the main text of a page, and their options."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Literal, TypeAlias

from curator_text.html.stop_lists import stop_list

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


def extractor(algorithm: str, options: Mapping[str, Any]) -> Extract:
    """Return an algorithm as a function; options not given have the defaults in OPTIONS."""
    chosen = {**OPTIONS[algorithm], **options}
    if algorithm == "justext":
        return _justext(chosen)
    density = chosen.pop("stop_word_density")
    extract = _resiliparse(chosen) if algorithm == "resiliparse" else _trafilatura(chosen)
    return partial(_dense, extract, density) if density else lambda page, _: extract(page)


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


def _dense(extract: Callable[[str], str], density: float, page: str, language: str | None) -> str:
    """Keep lines with enough stop words; keep all lines if the language has no stop list."""
    words = stop_list(language)
    text = extract(page)
    if not words:
        return text
    return "\n".join(line for line in text.split("\n") if _share(line, words) >= density)


def _share(line: str, stop_words: frozenset[str]) -> float:
    words = line.lower().split()
    return sum(word in stop_words for word in words) / len(words) if words else 1.0
