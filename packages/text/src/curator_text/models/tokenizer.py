"""Tokenizer: turn texts into tokens on the CPU, while the model processes earlier ones."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import pyarrow as pa
from curator_core import DocumentBatch, NodeInfo, ProcessingStage, Rejected, WorkerInfo
from curator_core.model.arrow import with_column
from curator_models.hub import ModelError, ModelSource, read_config
from curator_models.loading import load_tokenizer

from curator_text.row_errors import RowErrors
from curator_text.text_columns import find_invalid_utf8, text_column

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


PLACEHOLDER = "{text}"

_TEXT_MARK = "\ue000text\ue001"
"""Placeholder for the text while the tokenizer applies its chat template."""


@dataclass(frozen=True)
class Prompt:
    """A template around a text. Overlong input is cut from the text, never from the template."""

    template: str = PLACEHOLDER
    chat: bool = False
    """Use the model's own chat template, if no template is given."""

    def problems(self) -> Iterable[str]:
        if self.template.count(PLACEHOLDER) != 1:
            count = self.template.count(PLACEHOLDER)
            yield f"the template contains {PLACEHOLDER} {count} times, but must contain it once"

    def tokens(self, tokenizer: Any, texts: Sequence[str], max_tokens: int) -> Sequence[list[int]]:
        """Return the tokens of each text, at most `max_tokens` each."""
        before, after, marked = self._split_template(tokenizer)
        if not (before or after):
            return _encode(tokenizer, texts, truncation=True, max_length=max_tokens)
        room = max_tokens - len(_encode(tokenizer, [before + after], add_special_tokens=marked)[0])
        if room < 1:
            raise ModelError(
                f"the template alone has {max_tokens - room} tokens, "
                f"but max_seq_length is {max_tokens}"
            )
        encoded = _encode(
            tokenizer,
            [before + _truncate_to_tokens(tokenizer, text, room) + after for text in texts],
            add_special_tokens=marked,
        )
        for row, tokens in enumerate(encoded):
            room_left = room
            while len(tokens) > max_tokens:  # a text may gain a token where it joins the template
                room_left -= len(tokens) - max_tokens
                whole = before + _truncate_to_tokens(tokenizer, texts[row], room_left) + after
                [tokens] = _encode(tokenizer, [whole], add_special_tokens=marked)
            encoded[row] = tokens
        return encoded

    def _split_template(self, tokenizer: Any) -> tuple[str, str, bool]:
        """Return the template before and after the text, and whether to add special tokens."""
        if not self.chat or self.template != PLACEHOLDER:
            before, _, after = self.template.partition(PLACEHOLDER)
            return before, after, True
        if not getattr(tokenizer, "chat_template", None):
            raise ModelError(
                "the model has no chat template: give its prompt in prompt_template, with "
                "{text} as the placeholder for the text"
            )
        messages = [{"role": "user", "content": _TEXT_MARK}]
        shown = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        before, _, after = str(shown).partition(_TEXT_MARK)
        return before, after, False


def _encode(tokenizer: Any, texts: Sequence[str], **options: Any) -> list[list[int]]:
    encoded = tokenizer(
        list(texts), return_attention_mask=False, return_token_type_ids=False, **options
    )
    return list(encoded["input_ids"])


def _truncate_to_tokens(tokenizer: Any, text: str, max_tokens: int) -> str:
    """Return the longest beginning of a text with at most `max_tokens` tokens."""
    if max_tokens < 1:
        return ""
    encoded = tokenizer(
        text,
        add_special_tokens=False,
        truncation=True,
        max_length=max_tokens,
        return_offsets_mapping=True,
    )
    ends = [end for _, end in encoded["offset_mapping"]]
    return text[: max(ends, default=0)]


TOKENS = "_curator_tokens"
"""The column that carries tokens from the tokenizing stage to the model stage."""

Side: TypeAlias = Literal["left", "right"]


def token_column(tokens: Sequence[Sequence[int] | None]) -> pa.Array:
    return pa.array(tokens, pa.list_(pa.int32()))


@dataclass(frozen=True)
class TokenRows:
    """The tokens of all rows that have any, concatenated."""

    rows: list[int]
    """Their row numbers in the table."""
    lengths: list[int]
    _starts: "npt.NDArray[np.int64]"
    _values: "npt.NDArray[np.int32]"

    @classmethod
    def of(cls, column: pa.ChunkedArray) -> "TokenRows":
        import numpy as np

        lists = column.combine_chunks()
        ends = lists.offsets.to_numpy()
        lengths = np.diff(ends)
        rows = np.flatnonzero(lengths)
        values = lists.values.to_numpy(zero_copy_only=False)
        return cls(rows.tolist(), lengths[rows].tolist(), ends[rows], values)

    def padded(self, indexes: Sequence[int], pad: int, side: Side = "right") -> tuple[Any, Any]:
        """Return padded tokens of some rows, and a mask that is 1 where tokens are."""
        import numpy as np

        longest = max(self.lengths[index] for index in indexes)
        ids = np.full((len(indexes), longest), pad, np.int64)
        mask = np.zeros((len(indexes), longest), np.int64)
        for row, index in enumerate(indexes):
            length, start = self.lengths[index], self._starts[index]
            part = slice(0, length) if side == "right" else slice(longest - length, longest)
            ids[row, part] = self._values[start : start + length]
            mask[row, part] = 1
        return ids, mask


DEFAULT_LENGTH = 512
CHARACTERS_PER_TOKEN = 100
"""Characters to tokenize per wanted token, if max_chars is unset. Texts have four or five per
token; without a limit, a line of 100 MB would be tokenized just for its first page."""

_MAX_PLAUSIBLE_LENGTH = 1_000_000
_SPECIAL_POSITIONS = 2
"""RoBERTa-like models count positions from 2."""

_ROBERTA_LIKE = {"roberta", "xlm-roberta", "camembert", "mpnet"}
_ABSOLUTE_POSITIONS = {"bert", "distilbert", "electra", "albert", "gpt2"} | _ROBERTA_LIKE
"""Model types that cannot handle positions beyond their training length."""


@dataclass
class TokenizerStage(ProcessingStage[DocumentBatch, DocumentBatch]):
    """Adds the tokens of each text. A missing or blank text gets none."""

    source: ModelSource
    text_field: str
    max_chars: int | None
    max_seq_length: int | None
    prompt: Prompt = Prompt()

    def inputs(self) -> Sequence[str]:
        return (self.text_field,)

    def outputs(self) -> Sequence[str]:
        return (TOKENS,)

    def check(self) -> Iterable[str]:
        for name in ("max_chars", "max_seq_length"):
            value = getattr(self, name)
            if value is not None and value < 1:
                yield f"{name} is {value}, but must be 1 or more"
        yield from self.prompt.problems()

    def setup_on_node(self, node: NodeInfo) -> None:
        self.source.fetch(weights=False)

    def setup(self, worker: WorkerInfo) -> None:
        # The stage requests one core, but the tokenizer would use all of them.
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        folder = transformer_in(self.source.folder())
        self._tokenizer = load_tokenizer(folder)
        self._max_tokens = token_limit(folder, self._tokenizer, self.max_seq_length)

    def teardown(self) -> None:
        vars(self).pop("_tokenizer", None)

    def process(self, task: DocumentBatch) -> Iterable[DocumentBatch | Rejected]:
        errors = RowErrors(task, find_invalid_utf8(text_column(task.data, self.text_field)))
        texts = text_column(errors.good_rows(), self.text_field).to_pylist()
        max_chars = self.max_chars or self._max_tokens * CHARACTERS_PER_TOKEN
        tokens = self._tokenize([_truncate_text(text, max_chars) for text in texts])
        return errors.apply(lambda table: with_column(table, TOKENS, tokens))

    def _tokenize(self, texts: Sequence[str | None]) -> pa.Array:
        present = [text for text in texts if text is not None]
        encoded = iter(
            self.prompt.tokens(self._tokenizer, present, self._max_tokens) if present else ()
        )
        return token_column([None if text is None else next(encoded) for text in texts])


def _truncate_text(text: str | None, max_chars: int) -> str | None:
    """Return the part of a text passed to the tokenizer; None if it is blank."""
    shown = text[:max_chars] if text else None
    return None if not shown or shown.isspace() else shown


def transformer_in(folder: Path) -> Path:
    """Return the folder of the transformer: sentence-transformers may keep it in a subfolder."""
    for part in module_list(folder):
        if str(part.get("type", "")).endswith("Transformer"):
            return folder / str(part.get("path", ""))
    return folder


def module_list(folder: Path) -> list[dict[str, Any]]:
    """Return the parts of a sentence-transformers model; empty for other models."""
    import json

    try:
        return list(json.loads((folder / "modules.json").read_bytes()))
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise ModelError(f"cannot read {folder / 'modules.json'}: {error}") from error


def token_limit(folder: Path, tokenizer: Any, requested: int | None) -> int:
    """Return the maximum number of tokens: as requested, but limited by what the model supports."""
    if requested is None:
        limits = [read_config(folder, "sentence_bert_config.json").get("max_seq_length")]
        limits.append(getattr(tokenizer, "model_max_length", None))
        known = [int(limit) for limit in limits if limit and limit < _MAX_PLAUSIBLE_LENGTH]
        requested = min(known, default=DEFAULT_LENGTH)
    settings = read_config(folder)
    kind, positions = settings.get("model_type"), settings.get("max_position_embeddings")
    if kind not in _ABSOLUTE_POSITIONS or not positions:
        return requested
    return min(requested, int(positions) - (_SPECIAL_POSITIONS if kind in _ROBERTA_LIKE else 0))
