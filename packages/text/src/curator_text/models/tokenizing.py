"""Tokenizing: turn texts into tokens on the CPU, while the model processes earlier ones."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from curator_core import DocumentBatch, ProcessingStage, Rejected, WorkerInfo
from curator_core.model.arrow import with_column
from curator_core.model.resources import NodeInfo
from curator_models.loading import tokenizer_in
from curator_models.locating import ModelError, settings_in

from curator_text.models.locating import ModelSource
from curator_text.models.prompts import Prompt
from curator_text.models.token_columns import TOKENS, as_column
from curator_text.rejecting import RowErrors
from curator_text.text_columns import damage_of, text_column

USUAL_LENGTH = 512
CHARACTERS_PER_TOKEN = 100
"""Characters to tokenize per wanted token, if max_chars is unset. Texts have four or five per
token; without a limit, a line of 100 MB would be tokenized just for its first page."""

_SANE_LENGTH = 1_000_000
_SPECIAL_POSITIONS = 2
"""RoBERTa-like models count positions from 2."""

_ROBERTAS = {"roberta", "xlm-roberta", "camembert", "mpnet"}
_ABSOLUTE = {"bert", "distilbert", "electra", "albert", "gpt2"} | _ROBERTAS
"""Model types that cannot handle positions beyond their training length."""


@dataclass
class Tokenizing(ProcessingStage[DocumentBatch, DocumentBatch]):
    """Adds the tokens of each text. A missing or blank text gets none."""

    source: ModelSource
    text_field: str
    max_chars: int | None
    max_seq_length: int | None
    prompt: Prompt = Prompt()  # noqa: RUF009 - frozen

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
        self._tokenizer = tokenizer_in(folder)
        self._most = most_tokens(folder, self._tokenizer, self.max_seq_length)

    def teardown(self) -> None:
        vars(self).pop("_tokenizer", None)

    def process(self, task: DocumentBatch) -> Iterable[DocumentBatch | Rejected]:
        errors = RowErrors(task, damage_of(text_column(task.data, self.text_field)))
        texts = text_column(errors.good(), self.text_field).to_pylist()
        most = self.max_chars or self._most * CHARACTERS_PER_TOKEN
        tokens = self._tokens([_seen(text, most) for text in texts])
        return errors.settle(lambda table: with_column(table, TOKENS, tokens))

    def _tokens(self, texts: Sequence[str | None]) -> pa.Array:
        given = [text for text in texts if text is not None]
        made = iter(self.prompt.tokens(self._tokenizer, given, self._most) if given else ())
        return as_column([None if text is None else next(made) for text in texts])


def _seen(text: str | None, max_chars: int) -> str | None:
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


def most_tokens(folder: Path, tokenizer: Any, wanted: int | None) -> int:
    """Return the maximum number of tokens: as requested, but limited by what the model supports."""
    if wanted is None:
        limits = [settings_in(folder, "sentence_bert_config.json").get("max_seq_length")]
        limits.append(getattr(tokenizer, "model_max_length", None))
        known = [int(limit) for limit in limits if limit and limit < _SANE_LENGTH]
        wanted = min(known, default=USUAL_LENGTH)
    settings = settings_in(folder)
    kind, positions = settings.get("model_type"), settings.get("max_position_embeddings")
    if kind not in _ABSOLUTE or not positions:
        return wanted
    return min(wanted, int(positions) - (_SPECIAL_POSITIONS if kind in _ROBERTAS else 0))
