"""Recipes for text: cleaners that change something, and filters with limits from the sample."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from curator_core import DocumentBatch
from curator_core.errors import InputError, PluginError
from curator_core.io.compression import compression_of

from curator_cli.inspection.columns import (
    Column,
    chat_column,
    describe_columns,
    parsed,
    prompt_and_answer,
    text_column,
)
from curator_cli.inspection.context import InspectionContext
from curator_cli.inspection.duplicates import find_duplicates
from curator_cli.inspection.formats import PARQUET, PLAIN, WARC, WET, first_bytes
from curator_cli.inspection.limits import FEWEST, TOO_FEW, Bound, LimitRule, limit_step
from curator_cli.inspection.proposal import Option, Proposal, Step
from curator_cli.inspection.quantiles import finite, percent, typical
from curator_cli.inspection.sampling import (
    SampledRecords,
    make_stage,
    measure,
    problems_of,
    run_stage,
    sample_batch,
)

_RECORDS, _FEWEST_PARTS = 500, 32
_PART_BYTES = 1_000_000
_MOST_BYTES_OF_FILE = 8_000_000
"""About as much of a compressed file as makes one batch."""

_MOST_BYTES_READ = 64_000_000
_MOST_TEXT = 20_000_000

_LARGE_TEXT = 1_000_000
"""Bytes of a text file that is hardly one document."""

_CLEANERS = {
    "text.unicode_reformatter": "Repair wrongly decoded characters",
    "text.newline_normalizer": "Normalize line breaks",
    "text.whitespace_normalizer": "Remove superfluous spaces",
}


_WORDS = LimitRule("text.word_count_filter", (
    Bound("min_words", "low", 0.05, "are shorter", whole=True),
    Bound("max_words", "high", 0.01, "are longer", whole=True),
))  # fmt: skip

_RULES = (
    _WORDS,
    LimitRule("text.mean_word_length_filter", (
        Bound("min_mean_word_length", "low", 0.01, "have shorter words on average"),
        Bound("max_mean_word_length", "high", 0.01, "have longer words on average"),
    )),
    LimitRule("text.symbols_to_words_filter", (
        Bound("max_symbol_to_word_ratio", "high", 0.02, "have more # and ... as words"),
    )),
    LimitRule("text.non_alpha_numeric_filter", (
        Bound("max_non_alpha_numeric_to_text_ratio", "high", 0.02, "have more other signs"),
    )),
    LimitRule("text.urls_filter", (
        Bound("max_url_to_text_ratio", "high", 0.02, "have more addresses"),
    )),
    LimitRule("text.repeated_lines_filter", (
        Bound("max_repeated_line_fraction", "low", 0.02, "repeat more lines"),
    )),
    LimitRule("text.punctuation_filter", (
        Bound("max_num_sentences_without_endmark_ratio", "high", 0.02,
              "have more lines without an end mark"),
    )),
)  # fmt: skip


def propose_text(context: InspectionContext) -> Proposal:
    """Return a recipe for documents, or for pairs of prompts and answers."""
    batch, sample = _read(context)
    columns = describe_columns(sample.records)
    chat = chat_column(columns)
    if chat is not None and context.goal in (None, "sft"):
        return _propose_chats(context, sample, columns, chat)
    pair = prompt_and_answer(columns) if context.goal == "sft" else None
    found = pair[1] if pair else text_column(columns)
    if found is None:
        raise _without_text(context, columns)
    documents = _Documents(context, batch, found.name)
    proposal = Proposal(
        context.name,
        f"{context.group}, of which the good documents are kept.",
        _input(context, found),
        [*_extraction(context), *documents.steps(pair)],
        _output(context),
        findings=[
            ("sample", sample.describe("record")),
            ("columns", f"{', '.join(one.name for one in columns)}; all of them are kept"),
            ("text", documents.summary()),
            *documents.findings(),
        ],
    )
    if len(documents.texts) < FEWEST:
        proposal.notes.append(TOO_FEW)
    _offer_deduplication(context, proposal, found.name)
    return proposal


def _without_text(context: InspectionContext, columns: Sequence[Column]) -> InputError:
    names = ", ".join(f"{one.name} ({one.kind})" for one in columns) or "none"
    has_files = any(one.kind in ("bytes", "object") for one in columns)
    hint = "; for pictures in Parquet, use image.parquet_reader" if has_files else ""
    return InputError(
        f"no column of {context.group.paths[0]} holds text; its columns are {names}{hint}; "
        "choose other files with --from"
    )


def _read(context: InspectionContext) -> tuple[DocumentBatch, SampledRecords]:
    """Read documents from files all over the input: a part of each, where they are large."""
    is_archive = context.group.format in (WARC, WET)
    can_divide = is_archive or not any(map(compression_of, context.group.paths))
    part = _PART_BYTES if can_divide else _MOST_BYTES_OF_FILE
    paths = context.chosen(_RECORDS, _MOST_BYTES_READ, part)
    options: dict[str, Any] = {} if is_archive else {"text_field": None}
    options |= {option.name: option.value for option in _unit(context)}
    reader = make_stage(
        context.plugins, context.reader, file_paths=paths, blocksize=_PART_BYTES, **options
    )
    batch, sample = sample_batch([reader], _RECORDS, max(_FEWEST_PARTS, len(paths)))
    if batch.num_items == 0:
        why = sample.failures[0] if sample.failures else "they hold none"
        raise InputError(
            f"no records could be read from {context.group}: {why}; name other files with --from"
        )
    if context.group.format is WARC:
        extractor = make_stage(context.plugins, "text.html_extractor")
        if problems := problems_of(extractor):
            raise PluginError(f"{context.group}: {problems[0]}")
        pages = run_stage(extractor, batch)
        batch = pages[0] if pages else batch
        sample = SampledRecords(batch.to_pylist(), sample.sources, sample.failures)
    return batch, sample


def _extraction(context: InspectionContext) -> list[Step]:
    if context.group.format is not WARC:
        return []
    return [Step("text.html_extractor", (), "The text of each page, without menus.")]


def _input(context: InspectionContext, text: Column) -> Step:
    options = [*context.input_options(), *_unit(context)]
    if context.group.format not in (WARC, WET) and text.name != "text":
        options.append(Option("text_field", text.name, f"{text.words:.0f} words on average"))
    return Step(context.reader, options)


def _unit(context: InspectionContext) -> list[Option]:
    """Return what a document is in large text files: as a whole they would be too long."""
    sizes = context.group.sizes
    if context.group.format is not PLAIN or max(sizes.values()) < _LARGE_TEXT:
        return []
    largest = max(sizes, key=lambda path: sizes[path])
    unit = "paragraph" if b"\n\n" in first_bytes(largest) else "line"
    return [Option("unit", unit, "of large files; or line, paragraph, file")]


def _output(context: InspectionContext) -> Step:
    is_parquet = context.group.format is PARQUET
    writer = "text.parquet_writer" if is_parquet else "text.jsonl_writer"
    return Step(writer, context.output_options())


class _Documents:
    """The texts of the sample, measured by the filters themselves."""

    def __init__(self, context: InspectionContext, batch: DocumentBatch, column: str) -> None:
        self._plugins = context.plugins
        self._column = column
        self._batch = _with_texts(batch, column)
        self.texts: list[str] = self._batch.data.column(column).to_pylist()
        self._given = {} if column == "text" else {"text_field": column}
        self._languages = self._find_languages()

    def summary(self) -> str:
        words = finite([float(len(text.split())) for text in self.texts])
        return f"{self._column}: half of the documents have {typical(words)} words"

    def findings(self) -> Iterator[tuple[str, str]]:
        if self._languages:
            shares = ", ".join(f"{name} {percent(share)}" for name, share in
                               list(self._languages.items())[:6])  # fmt: skip
            yield "languages", shares
        found = find_duplicates(self.texts)
        if found.texts:
            exact, near = percent(found.exact / found.texts), percent(found.near / found.texts)
            yield "duplicates", f"{exact} exact, {near} near ones in the sample; more in all files"

    def steps(self, pair: tuple[Column, Column] | None) -> list[Step]:
        steps = list(self._cleaners())
        if len(self.texts) < FEWEST:
            return steps
        steps += self._language_step()
        things = "answers" if pair else "documents"
        for rule in [_WORDS] if pair else _RULES:
            scores = finite(measure(self._plugins, rule.stage, self._given, self._batch))
            step = limit_step(self._plugins, rule, scores, things, self._options())
            steps += [step] if step else []
        return steps

    def _cleaners(self) -> Iterator[Step]:
        """Yield the cleaners that change something, and clean the sample with them."""
        for name, what in _CLEANERS.items():
            stage = make_stage(self._plugins, name, **self._given)
            if problems_of(stage):
                continue
            cleaned = run_stage(stage, self._batch)
            texts = [text for one in cleaned for text in one.data.column(self._column).to_pylist()]
            if len(cleaned) != 1 or len(texts) != len(self.texts):
                continue
            pairs = zip(self.texts, texts, strict=True)
            changed = sum(old != new for old, new in pairs) / max(1, len(texts))
            if changed:
                self._batch, self.texts = cleaned[0], texts
                comment = f"{what}: {percent(changed)} of your documents need it"
                yield Step(name, self._options(), comment)

    def _options(self, *options: Option) -> list[Option]:
        return [*(Option(name, value) for name, value in self._given.items()), *options]

    def _find_languages(self) -> dict[str, float]:
        """Return the share of each language, if the models are installed."""
        stage = make_stage(self._plugins, "text.language_identifier", **self._given)
        if problems_of(stage) or "language" in self._batch.data.column_names:
            return {}
        found: Counter[str] = Counter()
        for one in run_stage(stage, self._batch):
            found.update(name for name in one.data.column("language").to_pylist() if name)
        return {name: times / found.total() for name, times in found.most_common()}

    def _language_step(self) -> list[Step]:
        """Keep the common languages; what is rare is usually noise."""
        common = [
            name for name, share in self._languages.items() if share >= 0.05 and name != "und"
        ]
        rest = 1 - sum(self._languages[name] for name in common)
        if not common or rest < 0.005:
            return []
        comment = f"{percent(rest)} of your documents are in other languages"
        return [Step("text.language_filter", self._options(Option("languages", common, comment)))]


def _with_texts(batch: DocumentBatch, column: str) -> DocumentBatch:
    """Return the records that have a text, up to a number of bytes."""
    rows, size = [], 0
    for row, text in enumerate(batch.data.column(column).to_pylist()):
        if isinstance(text, str) and text.strip() and size < _MOST_TEXT:
            rows.append(row)
            size += len(text)
    return batch.take(rows)


def _propose_chats(
    context: InspectionContext, sample: SampledRecords, columns: Sequence[Column], chat: Column
) -> Proposal:
    """Return a recipe for conversations, which have no column that filters of texts could read."""
    turns = finite([float(len(parsed(record.get(chat.name)) or ())) for record in sample.records])
    options = [*context.input_options(), Option("text_field", None, "no column is one text")]
    return Proposal(
        context.name,
        f"{context.group} with conversations.",
        Step(context.reader, options),
        [],
        _output(context),
        findings=[
            ("sample", sample.describe("record")),
            ("columns", f"{', '.join(one.name for one in columns)}; all of them are kept"),
            ("turns", f"half of the conversations have {typical(turns)} messages"),
        ],
        notes=[f"{chat.name} holds lists of messages; filters need a column of text: add one with "
               "a stage of your own (curate init --plugin NAME)"],
    )  # fmt: skip


def _offer_deduplication(context: InspectionContext, proposal: Proposal, column: str) -> None:
    """Add deduplication as a step, or say how to get it."""
    if "dedup.fuzzy" not in context.plugins.workflows:
        proposal.notes.append("to remove near duplicates: pip install curator-dedup")
        return
    options = [] if column == "text" else [Option("text_field", column)]
    proposal.steps.append(
        Step("dedup.fuzzy", options, "Documents with nearly the same words.", "workflow")
    )
