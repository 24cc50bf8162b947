"""Editing a column with C4's rules, and judging the edited text with the rules that follow."""

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa

from curator_text.compiled.alphabets import alphabet
from curator_text.compiled.c4_lines import (
    CURLY,
    FEW,
    FILLED,
    KEPT,
    UNSURE,
    Limits,
    edit_pages,
)
from curator_text.compiled.documents import Documents
from curator_text.compiled.judging import Record, judge
from curator_text.compiled.kernels import Array
from curator_text.compiled.phrases import Phrases, phrases_of
from curator_text.judging import Ending, Rule, Verdicts, joined
from curator_text.sets.c4_quality import FILLER, POLICY, SCRIPT, C4QualityFilter
from curator_text.sets.editing import EditingRuleSet
from curator_text.texts import Text

_REASONS = {FILLED: "lorem_ipsum", CURLY: "curly_bracket", FEW: "too_few_sentences"}


def fits(rules: EditingRuleSet) -> bool:
    return type(rules) is C4QualityFilter and rules.split_paragraph


def edited_in_pieces(
    pieces: Iterable[pa.ChunkedArray], rules: Sequence[tuple[str, Rule]], kind: pa.DataType
) -> tuple[Verdicts, pa.ChunkedArray]:
    """Return the verdicts and the edited texts; the first rule is C4's."""
    verdicts, chunks = [], []
    for piece in pieces:
        said, texts = edited_at_once(piece, rules)
        verdicts.append(said)
        chunks.append(texts.cast(kind))
    return joined(verdicts), pa.chunked_array(chunks, kind)


def edited_at_once(
    column: pa.ChunkedArray, rules: Sequence[tuple[str, Rule]]
) -> tuple[Verdicts, pa.Array]:
    """Do the same for one piece of a column."""
    documents = Documents(column)
    record = Record(rules, len(documents))
    record.end_blank(documents, [0])
    edits = _edited(documents, record)
    judge(Documents(pa.chunked_array([edits])), record, range(1, len(rules)))
    return record.verdicts(), edits


def _edited(documents: Documents, record: Record) -> pa.Array:
    c4 = record.rules[0]
    rows = record.left()
    written = np.empty(int((documents.ends - documents.starts)[rows].sum()) + 8, np.uint8)
    offsets = np.zeros(len(documents) + 1, np.int64)
    outcomes = np.full(len(documents), KEPT, np.int64)
    edit_pages(
        documents.data,
        (documents.starts, documents.ends, rows),
        (alphabet(), _phrases(c4)),
        _limits(c4),
        (written, offsets, outcomes),
    )
    for outcome, reason in _REASONS.items():
        record.end(0, np.flatnonzero(outcomes == outcome), Ending(reason))
    texts = pa.LargeStringArray.from_buffers(
        len(documents), pa.py_buffer(offsets), pa.py_buffer(written[: offsets[-1]])
    )
    unsure = np.flatnonzero(outcomes == UNSURE)
    return _asked_in_python(documents, record, texts, unsure) if len(unsure) else texts


def _asked_in_python(
    documents: Documents, record: Record, texts: pa.Array, rows: Array
) -> pa.Array:
    edited = texts.to_pylist()
    for row, text in zip(rows.tolist(), documents.texts(rows), strict=True):
        edit = record.rules[0].edited(Text(text))
        if edit.reason is None:
            edited[row] = str(edit.text)
        else:
            record.end(0, np.array([row]), Ending(edit.reason))
    return pa.array(edited, pa.large_string())


def _phrases(rules: C4QualityFilter) -> Phrases:
    """Return the phrases to search for, in groups by bit."""
    return phrases_of(
        [
            [FILLER] if rules.filter_lorem_ipsum else [],
            [SCRIPT] if rules.filter_javascript else [],
            POLICY if rules.filter_policy else [],
            ["\0XX"],  # never matches, but prevents an empty list
        ]
    )


def _limits(rules: C4QualityFilter) -> Limits:
    return Limits(
        rules.min_words_per_line,
        rules.max_word_length,
        rules.min_num_sentences,
        int(rules.remove_citations),
        int(rules.filter_no_terminal_punct),
        int(rules.filter_curly_bracket),
    )
