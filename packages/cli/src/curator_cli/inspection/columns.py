"""Columns of records: their types, and which one holds the text."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_TEXT_NAMES = ("text", "content", "body", "article", "document", "raw_content", "markdown", "code",
               "story", "page", "passage", "abstract", "description")  # fmt: skip
_PROMPTS = ("instruction", "prompt", "question", "query", "input")
_ANSWERS = ("response", "output", "answer", "completion", "chosen", "target")
_CHATS = ("messages", "conversations", "conversation", "dialog", "turns")

_NAME_BONUS = 3.0
"""How much longer the texts of another column must be to count as the text."""


@dataclass(frozen=True)
class Column:
    """A column of the sample."""

    name: str
    kind: str
    filled: float
    words: float
    """Mean number of words, if it holds texts."""


def describe_columns(records: Sequence[Mapping[str, Any]]) -> list[Column]:
    """Return the columns in the order in which they appear."""
    names = list(dict.fromkeys(name for record in records for name in record))
    return [_column(name, [record.get(name) for record in records]) for name in names]


def _column(name: str, values: Sequence[Any]) -> Column:
    known = [value for value in values if value is not None and value != ""]
    kinds = Counter(map(_kind, known))
    kind = kinds.most_common(1)[0][0] if kinds else "empty"
    texts = [value for value in known if isinstance(value, str)]
    words = sum(len(text.split()) for text in texts) / len(texts) if texts else 0.0
    return Column(name, kind, len(known) / max(1, len(values)), words)


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    value = parsed(value)
    if isinstance(value, str):
        return "text"
    return "list" if isinstance(value, list) else "object" if isinstance(value, dict) else "bytes"


def parsed(value: Any) -> Any:
    """Return the list or object of a text that is JSON: readers store nested values so."""
    if isinstance(value, str) and value[:1] in ("[", "{"):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def text_column(columns: Iterable[Column]) -> Column | None:
    """Return the column with the longest texts; usual names count for more."""
    texts = [column for column in columns if column.kind == "text" and column.words]
    return max(texts, key=_likeness, default=None)


def _likeness(column: Column) -> float:
    bonus = _NAME_BONUS if column.name.lower() in _TEXT_NAMES else 1.0
    return bonus * column.words * column.filled


def chat_column(columns: Iterable[Column]) -> Column | None:
    """Return the column that holds conversations as lists of messages."""
    return next((one for one in columns if one.kind == "list" and one.name.lower() in _CHATS), None)


def prompt_and_answer(columns: Sequence[Column]) -> tuple[Column, Column] | None:
    """Return the columns of prompts and answers, if there are both."""
    texts = {one.name.lower(): one for one in columns if one.kind == "text"}
    prompt = next((texts[name] for name in _PROMPTS if name in texts), None)
    answer = next((texts[name] for name in _ANSWERS if name in texts), None)
    return (prompt, answer) if prompt and answer else None
