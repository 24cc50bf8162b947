"""Extracting: web pages become text."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any, get_args

import pyarrow as pa
from curator_core import DocumentBatch, InputError, ProcessingStage, Rejected, WorkerInfo
from curator_core.errors import hint
from curator_core.model.arrow import with_column
from curator_core.model.optional_dependencies import not_installed

from curator_text.byte_columns import BytesColumn
from curator_text.html.algorithms import EXTRAS, MODULES, OPTIONS, Algorithm
from curator_text.html.children import Child, Extracted, Page
from curator_text.html.detection import MODULE as CHARSET_DETECTOR
from curator_text.html.stop_lists import LANGUAGES, MODULE, stop_list
from curator_text.rejecting import RowErrors


@dataclass
class HtmlExtractor(ProcessingStage[DocumentBatch, DocumentBatch]):
    """Makes text of HTML, and adds the title and the language that the page names.

    The same page gives the same text, whatever came before it. A page that a library cannot read,
    or not in time, is set aside alone.
    """

    algorithm: Algorithm = "resiliparse"
    """`resiliparse` (extra `web`), `trafilatura` or `justext` (extras of those names)."""

    html_field: str = field(default="content", kw_only=True)
    """The column that holds the pages, as bytes or as text."""

    charset_field: str = field(default="charset", kw_only=True)
    """The column with the charsets that servers named, where there is one."""

    text_field: str = field(default="text", kw_only=True)
    """A column for the text."""

    title_field: str = field(default="title", kw_only=True)
    """A column for the title of the page."""

    language_field: str = field(default="html_language", kw_only=True)
    """A column for the language that the page names, such as `de`; a hint, and often wrong."""

    keep_html: bool = field(default=False, kw_only=True)
    """Whether to keep the column of pages."""

    language: str | None = field(default=None, kw_only=True)
    """justext, and with stop_word_density: the language of the stop list, such as `de`. By default
    the one that each page names. Without a list stop words do not count: Chinese, Japanese, Korean
    and Thai have none."""

    page_timeout_s: float = field(default=5.0, kw_only=True)
    """How many seconds of CPU time a page may take; ordinary ones take a few milliseconds."""

    main_content: bool | None = field(default=None, kw_only=True)
    """resiliparse: leave out menus and the like (true)."""

    alt_texts: bool | None = field(default=None, kw_only=True)
    """resiliparse: write out what stands for pictures (false)."""

    links: bool | None = field(default=None, kw_only=True)
    """resiliparse, trafilatura: write out the targets of links (false)."""

    stop_word_density: float | None = field(default=None, kw_only=True)
    """resiliparse, trafilatura: the least share of stop words in a line (none; NeMo Curator: .32).
    Needs `curator-text[justext]` for the stop lists."""

    favor_precision: bool | None = field(default=None, kw_only=True)
    """trafilatura: rather less text, but only what is text (false)."""

    favor_recall: bool | None = field(default=None, kw_only=True)
    """trafilatura: rather too much text than too little (false)."""

    include_comments: bool | None = field(default=None, kw_only=True)
    """trafilatura: with the comments of readers (false)."""

    include_tables: bool | None = field(default=None, kw_only=True)
    """trafilatura: with tables (true)."""

    length_low: int | None = field(default=None, kw_only=True)
    """justext: shorter paragraphs are short (70 characters)."""

    length_high: int | None = field(default=None, kw_only=True)
    """justext: longer paragraphs are long (200 characters)."""

    stopwords_low: float | None = field(default=None, kw_only=True)
    """justext: a smaller share of stop words is low (.30)."""

    stopwords_high: float | None = field(default=None, kw_only=True)
    """justext: a larger share of stop words is high (.32)."""

    max_link_density: float | None = field(default=None, kw_only=True)
    """justext: paragraphs with more of their text in links are none (.2)."""

    max_heading_distance: int | None = field(default=None, kw_only=True)
    """justext: how many characters behind a short heading good text may begin (200)."""

    no_headings: bool | None = field(default=None, kw_only=True)
    """justext: headings count like other paragraphs (false)."""

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
            yield f"no algorithm {self.algorithm!r}{hint(self.algorithm, known)}"
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
        for name in self._given():
            if name not in OPTIONS[self.algorithm]:
                of = " and ".join(one for one, options in OPTIONS.items() if name in options)
                yield f"{name} is an option of {of}, but algorithm is {self.algorithm!r}"
        if self.page_timeout_s <= 0:
            yield f"page_timeout_s is {self.page_timeout_s}, but must be more than 0"
        if len(set(self.outputs())) < len(self.outputs()):
            yield f"two of its results would be written to one column: {', '.join(self.outputs())}"

    def _stop_list_problems(self) -> Iterator[str]:
        if not (self.algorithm == "justext" or self.stop_word_density):
            if self.language is not None:
                yield "language chooses a stop list, but none is used without stop_word_density"
        elif find_spec(MODULE) is None:
            if self.algorithm != "justext":
                yield (
                    "stop_word_density needs the stop lists of jusText: "
                    "pip install 'curator-text[justext]'"
                )
        elif self.language is not None and stop_list(self.language) is None:
            known = ", ".join(LANGUAGES)
            yield f"there is no stop list for language {self.language!r} (known: {known})"

    def setup(self, worker: WorkerInfo) -> None:
        self._child = Child(self.algorithm, self._given(), self.language, self.page_timeout_s)

    def teardown(self) -> None:
        self._child.close()

    def process(self, task: DocumentBatch) -> Iterable[DocumentBatch | Rejected]:
        pages = list(_pages(task.data, self.html_field, self.charset_field))
        found = self._child.extracted([page for page in pages if page is not None])
        answers = [None if page is None else next(found) for page in pages]
        errors = {row: one for row, one in enumerate(answers) if isinstance(one, InputError)}
        good = [one for one in answers if not isinstance(one, InputError)]
        return RowErrors(task, errors).settle(lambda table: self._with_texts(table, good))

    def _given(self) -> dict[str, Any]:
        names = {name: None for options in OPTIONS.values() for name in options}
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    def _with_texts(self, table: pa.Table, found: Sequence[Extracted | None]) -> pa.Table:
        if not self.keep_html:
            table = table.drop_columns([self.html_field])
        texts = BytesColumn()
        for one in found:
            texts.append(one and one.text)
        table = with_column(table, self.text_field, texts.array(pa.string()))
        table = with_column(table, self.title_field, _strings(one and one.title for one in found))
        languages = _strings(one and one.language for one in found)
        return with_column(table, self.language_field, languages)


def _strings(values: Iterable[str | None]) -> pa.Array:
    return pa.array(values, pa.string())


def _pages(table: pa.Table, html_field: str, charset_field: str) -> Iterator[Page | None]:
    contents = _as_bytes(table.column(html_field), html_field)
    is_text = not _is_binary(table.schema.field(html_field).type)
    named = charset_field in table.column_names and not is_text
    charsets = table.column(charset_field).to_pylist() if named else [None] * table.num_rows
    charset = "utf-8" if is_text else None
    for content, said in zip(contents, charsets, strict=True):
        page = content.as_buffer()
        yield None if page is None else Page(page, charset or said)


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
