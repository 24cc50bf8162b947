"""Extracting: the stage that turns web pages into text."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any, get_args

import pyarrow as pa
from curator_core import DocumentBatch, InputError, ProcessingStage, Rejected, WorkerInfo
from curator_core.errors import hint
from curator_core.model.arrow import with_column
from curator_core.model.optional_dependencies import not_installed

from curator_text.html.algorithms import (
    EXTRAS,
    LANGUAGES,
    MODULES,
    OPTIONS,
    STOP_LIST_MODULE,
    Algorithm,
    stop_list,
)
from curator_text.html.charset import CHARSET_DETECTOR
from curator_text.html.sandbox import Extracted, HtmlPage, Sandbox
from curator_text.row_errors import RowErrors
from curator_text.text_columns import BytesColumn


@dataclass
class HtmlExtractor(ProcessingStage[DocumentBatch, DocumentBatch]):
    """Extracts text from HTML, and adds the page's title and declared language.

    The same page always gives the same text, regardless of earlier pages. A page that the library
    cannot read, or that takes too long, is quarantined on its own.
    """

    algorithm: Algorithm = "resiliparse"
    """`resiliparse` (extra `web`), `trafilatura` or `justext` (extras of the same names)."""

    html_field: str = field(default="content", kw_only=True)
    """The column that holds the pages, as bytes or text."""

    charset_field: str = field(default="charset", kw_only=True)
    """The column with the charsets declared by servers, if there is one."""

    text_field: str = field(default="text", kw_only=True)
    """Output column for the text."""

    title_field: str = field(default="title", kw_only=True)
    """Output column for the page title."""

    language_field: str = field(default="html_language", kw_only=True)
    """Output column for the language that the page declares, such as `de`; often wrong."""

    keep_html: bool = field(default=False, kw_only=True)
    """Keep the column of pages."""

    language: str | None = field(default=None, kw_only=True)
    """justext, or with stop_word_density: language of the stop list, such as `de`; by default the
    one that each page declares. Without a list, stop words are ignored: Chinese, Japanese, Korean
    and Thai have none."""

    page_timeout_s: float = field(default=5.0, kw_only=True)
    """Maximum seconds of CPU time per page. Ordinary pages take a few milliseconds."""

    main_content: bool | None = field(default=None, kw_only=True)
    """resiliparse: remove menus and other boilerplate (true)."""

    alt_texts: bool | None = field(default=None, kw_only=True)
    """resiliparse: include the alternative texts of pictures (false)."""

    links: bool | None = field(default=None, kw_only=True)
    """resiliparse, trafilatura: include link targets (false)."""

    stop_word_density: float | None = field(default=None, kw_only=True)
    """resiliparse, trafilatura: minimum share of stop words in a line (none; NeMo Curator: .32).
    Needs the stop lists of `curator-text[justext]`."""

    favor_precision: bool | None = field(default=None, kw_only=True)
    """trafilatura: extract less text, but with fewer errors (false)."""

    favor_recall: bool | None = field(default=None, kw_only=True)
    """trafilatura: extract more text, even if some is boilerplate (false)."""

    include_comments: bool | None = field(default=None, kw_only=True)
    """trafilatura: include reader comments (false)."""

    include_tables: bool | None = field(default=None, kw_only=True)
    """trafilatura: include tables (true)."""

    length_low: int | None = field(default=None, kw_only=True)
    """justext: paragraphs shorter than this count as short (70 characters)."""

    length_high: int | None = field(default=None, kw_only=True)
    """justext: paragraphs longer than this count as long (200 characters)."""

    stopwords_low: float | None = field(default=None, kw_only=True)
    """justext: a share of stop words below this is low (.30)."""

    stopwords_high: float | None = field(default=None, kw_only=True)
    """justext: a share of stop words above this is high (.32)."""

    max_link_density: float | None = field(default=None, kw_only=True)
    """justext: paragraphs with a larger share of link text are boilerplate (.2)."""

    max_heading_distance: int | None = field(default=None, kw_only=True)
    """justext: maximum characters between a short heading and the good text after it (200)."""

    no_headings: bool | None = field(default=None, kw_only=True)
    """justext: treat headings like other paragraphs (false)."""

    def inputs(self) -> Sequence[str]:
        return (self.html_field,)

    def outputs(self) -> Sequence[str]:
        return self.text_field, self.title_field, self.language_field

    def columns_after(self, before: frozenset[str] | None) -> frozenset[str] | None:
        if before is None:
            return None
        kept = before if self.keep_html else before - {self.html_field}
        return kept | frozenset(self.outputs())

    def check(self) -> Iterable[str]:
        if self.algorithm not in OPTIONS:
            known = get_args(Algorithm)
            yield f"unknown algorithm {self.algorithm!r}{hint(self.algorithm, known)}"
            return
        extra = EXTRAS[self.algorithm]
        problem = not_installed(
            f"algorithm {self.algorithm!r}",
            list(dict.fromkeys((MODULES[self.algorithm], CHARSET_DETECTOR))),
            f"pip install 'curator-text[{extra}]'",
        )
        if problem is not None:
            yield problem
        yield from self._stop_list_problems()
        for name in self._chosen_options():
            if name not in OPTIONS[self.algorithm]:
                owners = " and ".join(
                    algorithm for algorithm, options in OPTIONS.items() if name in options
                )
                yield f"{name} is an option of {owners}, but algorithm is {self.algorithm!r}"
        if self.page_timeout_s <= 0:
            yield f"page_timeout_s is {self.page_timeout_s}, but must be more than 0"
        if len(set(self.outputs())) < len(self.outputs()):
            yield f"two results would be written to the same column: {', '.join(self.outputs())}"

    def _stop_list_problems(self) -> Iterator[str]:
        if not (self.algorithm == "justext" or self.stop_word_density):
            if self.language is not None:
                yield "language chooses a stop list, but none is used without stop_word_density"
        elif find_spec(STOP_LIST_MODULE) is None:
            if self.algorithm != "justext":
                yield (
                    "stop_word_density needs the stop lists of jusText: "
                    "pip install 'curator-text[justext]'"
                )
        elif self.language is not None and stop_list(self.language) is None:
            known = ", ".join(LANGUAGES)
            yield f"language {self.language!r} has no stop list (known: {known})"

    def setup(self, worker: WorkerInfo) -> None:
        self._sandbox = Sandbox(
            self.algorithm, self._chosen_options(), self.language, self.page_timeout_s
        )

    def teardown(self) -> None:
        self._sandbox.close()

    def process(self, task: DocumentBatch) -> Iterable[DocumentBatch | Rejected]:
        pages = list(_pages(task.data, self.html_field, self.charset_field))
        extracted = self._sandbox.extract([page for page in pages if page is not None])
        results = [None if page is None else next(extracted) for page in pages]
        errors = {
            row: result for row, result in enumerate(results) if isinstance(result, InputError)
        }
        good = [result for result in results if not isinstance(result, InputError)]
        return RowErrors(task, errors).apply(lambda table: self._with_texts(table, good))

    def _chosen_options(self) -> dict[str, Any]:
        names = {name: None for options in OPTIONS.values() for name in options}
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    def _with_texts(self, table: pa.Table, results: Sequence[Extracted | None]) -> pa.Table:
        if not self.keep_html:
            table = table.drop_columns([self.html_field])
        texts = BytesColumn()
        for result in results:
            texts.append(result and result.text)
        table = with_column(table, self.text_field, texts.array(pa.string()))
        table = with_column(
            table, self.title_field, _strings(result and result.title for result in results)
        )
        languages = _strings(result and result.language for result in results)
        return with_column(table, self.language_field, languages)


def _strings(values: Iterable[str | None]) -> pa.Array:
    return pa.array(values, pa.string())


def _pages(table: pa.Table, html_field: str, charset_field: str) -> Iterator[HtmlPage | None]:
    contents = _as_bytes(table.column(html_field), html_field)
    is_text = not _is_binary(table.schema.field(html_field).type)
    named = charset_field in table.column_names and not is_text
    charsets = table.column(charset_field).to_pylist() if named else [None] * table.num_rows
    charset = "utf-8" if is_text else None
    for content, declared in zip(contents, charsets, strict=True):
        page = content.as_buffer()
        yield None if page is None else HtmlPage(page, charset or declared)


def _is_binary(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def _as_bytes(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_null(kind):
        return column.cast(pa.large_binary())
    if _is_binary(kind):
        return column
    raise InputError(
        f"column {name!r} holds {kind}, but must hold pages as bytes or text; "
        "name another html_field"
    )
