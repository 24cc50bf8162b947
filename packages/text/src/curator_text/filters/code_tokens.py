"""Rules over the tokens of code."""

from collections.abc import Callable, Iterable, Sized
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

from curator_core import CuratorError, WorkerInfo

from curator_text.filtering import TextFilter
from curator_text.texts import Text

Tokenize: TypeAlias = Callable[[str], Sized]


@dataclass
class TokenizerFertilityFilter(TextFilter):
    """Drops code with too many tokens for its length: data, hashes, minified scripts."""

    path_to_tokenizer: Any
    """A SentencePiece model (`.model`), a `tokenizer.json` or its folder, the name of a tokenizer
    on the Hugging Face hub (extra `tokenizers` for all of these), or, in Python, a function from a
    text to its tokens."""

    min_char_to_token_ratio: float = 2.5
    """Minimum number of characters per token."""

    _tokenize: Tokenize | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def reason(self) -> str:
        return f"under {self.min_char_to_token_ratio:g} characters for each token"

    def check(self) -> Iterable[str]:
        yield from super().check()
        problem = _problem(self.path_to_tokenizer)
        if problem:
            yield problem

    def setup(self, worker: WorkerInfo) -> None:
        self._tokenize = tokenizer(self.path_to_tokenizer)

    def teardown(self) -> None:
        self._tokenize = None

    def score(self, text: Text) -> float:
        if self._tokenize is None:
            self._tokenize = tokenizer(self.path_to_tokenizer)
        tokens = len(self._tokenize(str(text)))
        return len(text) / tokens if tokens else -1.0

    def keeps(self, score: float) -> bool:
        return score >= self.min_char_to_token_ratio


def tokenizer(given: "str | Tokenize") -> Tokenize:
    """Return a function that tokenizes a text."""
    problem = _problem(given)
    if problem:
        raise CuratorError(problem)
    if not isinstance(given, str):
        return given
    return _sentencepiece(given) if given.endswith(".model") else _tokenizers(given)


def _problem(given: object) -> str | None:
    if callable(given):
        return None
    if not isinstance(given, str) or not given:
        return f"path_to_tokenizer is {given!r}, but must be a path, a name or a function"
    library = "sentencepiece" if given.endswith(".model") else "tokenizers"
    if not find_spec(library):
        return f"tokenizer {given!r} needs {library}: pip install 'curator-text[tokenizers]'"
    if given.endswith((".model", ".json")) and not Path(given).is_file():
        return f"there is no tokenizer {given}"
    return None


def _sentencepiece(path: str) -> Tokenize:
    from sentencepiece import SentencePieceProcessor

    model = SentencePieceProcessor(model_file=path)

    def tokenize(text: str) -> Sized:
        tokens: list[int] = model.encode(text)
        return tokens

    return tokenize


def _tokenizers(given: str) -> Tokenize:
    from tokenizers import Tokenizer

    path = Path(given) / "tokenizer.json" if Path(given).is_dir() else Path(given)
    model = Tokenizer.from_file(str(path)) if path.is_file() else Tokenizer.from_pretrained(given)

    def tokenize(text: str) -> Sized:
        tokens: list[int] = model.encode(text, add_special_tokens=False).ids
        return tokens

    return tokenize
