"""Rules over the number of tokens in a text."""

from collections.abc import Callable, Iterable, Sized
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

from curator_core import CuratorError, NodeInfo, WorkerInfo
from curator_core.errors import PluginError
from curator_models.loading import has_vocabulary

from curator_text.document_text import DocumentText
from curator_text.filters.base import TextFilter

_FILE = "tokenizer.json"
_OF_THE_HUB = frozenset({"cache_dir", "revision"})
"""Options that select the file to download, and do not affect tokenization."""


@dataclass
class TokenCountFilter(TextFilter):
    """Drops texts that are too short or too long for a model, counted in its tokens.

    Hugging Face tokenizers also count the special tokens that they add to each text.
    """

    cost: ClassVar[float] = 2000.0

    tokenizer: Callable[[str], Sized] | None = None
    """A function that returns the tokens of a text, or an object with such an `encode` method."""

    hf_model_name: str | None = None
    """Instead of `tokenizer`: the folder of a tokenizer, or its name on the Hugging Face hub, from
    which each node downloads it once. A `tokenizer.json` needs `curator-text[tokenizers]`, other
    formats need `curator-text[models]`."""

    hf_token: str | None = field(default=None, repr=False)
    """The access token for a private tokenizer: `${secret:HF_TOKEN}`."""

    min_tokens: int = 0
    """Minimum number of tokens."""

    max_tokens: int | None = None
    """Maximum number of tokens; None for no limit."""

    transformers_init_kwargs: dict[str, Any] = field(default_factory=dict)
    """More options for loading the tokenizer, such as `revision`. Remote code is never run. Options
    other than `revision` and `cache_dir` need `curator-text[models]`."""

    def check(self) -> Iterable[str]:
        yield from super().check()
        if (self.tokenizer is None) == (self.hf_model_name is None):
            both = "both set; set only one" if self.tokenizer else "both missing; give one"
            yield f"tokenizer and hf_model_name are {both}"
        elif isinstance(self.tokenizer, str):
            name = self.tokenizer
            yield (
                f"tokenizer is the text {name!r}, but must be a function or an object with a "
                f"method encode; a tokenizer of that name is hf_model_name={name!r}"
            )
        elif self.hf_model_name is not None:
            problem = _missing_for(self.hf_model_name, self.transformers_init_kwargs)
            if problem is not None:
                yield problem
        if "trust_remote_code" in self.transformers_init_kwargs:
            yield "transformers_init_kwargs has trust_remote_code, but code of others is never run"

    @property
    def reason(self) -> str:
        if self.max_tokens is None:
            return f"fewer than {self.min_tokens} tokens"
        return f"fewer than {self.min_tokens:,} or more than {self.max_tokens:,} tokens"

    def needs_no_setup(self) -> bool:
        return self.hf_model_name is None

    def setup_on_node(self, node: NodeInfo) -> None:
        self._loaded()

    def setup(self, worker: WorkerInfo) -> None:
        self._encode: Callable[[str], Sized] = self._loaded()

    def teardown(self) -> None:
        vars(self).pop("_encode", None)

    def score(self, text: DocumentText) -> float:
        if "_encode" not in vars(self):
            self.setup(WorkerInfo())
        return len(self._encode(str(text)))

    def keeps(self, score: float) -> bool:
        return self.min_tokens <= score and (self.max_tokens is None or score <= self.max_tokens)

    def _loaded(self) -> Callable[[str], Sized]:
        if self.hf_model_name is None:
            tokenizer: Any = self.tokenizer
            encode: Callable[[str], Sized] = getattr(tokenizer, "encode", tokenizer)
            return encode
        return _loaded(self.hf_model_name, self.hf_token, self.transformers_init_kwargs)


def _missing_for(name: str, options: dict[str, Any]) -> str | None:
    """Return what to install for a tokenizer, or None if nothing is known to be missing."""
    if find_spec("transformers") is not None:
        return None
    folder = Path(name)
    if folder.is_dir() and not (folder / _FILE).is_file():
        why = f"has no {_FILE}, so it needs transformers"
    elif not options.keys() <= _OF_THE_HUB:
        named = ", ".join(sorted(options.keys() - _OF_THE_HUB))
        why = f"is loaded with {named}, so it needs transformers"
    elif find_spec("tokenizers") is None:
        return (
            f"the tokenizer {name!r} needs tokenizers, which is not installed: "
            "pip install 'curator-text[tokenizers]', or give a function as tokenizer"
        )
    else:
        return None
    return (
        f"the tokenizer {name!r} {why}, which is not installed: "
        "pip install 'curator-text[models]', or give a function as tokenizer"
    )


def _loaded(name: str, token: str | None, options: dict[str, Any]) -> Callable[[str], Sized]:
    """Load a tokenizer and return its encode function.

    A tokenizer.json takes precedence if there is one, so that counts do not depend on the installed
    packages.
    """
    if (problem := _missing_for(name, options)) is not None:
        raise PluginError(problem)
    if options.keys() <= _OF_THE_HUB and find_spec("tokenizers") is not None:
        path = _file_of(name, token, options)
        if path is not None:
            return _load_file(path, name)
    return _load_with_transformers(name, token, options)


def _file_of(name: str, token: str | None, options: dict[str, Any]) -> Path | None:
    """Return the tokenizer.json of a folder or a Hugging Face name, or None if it has none."""
    if Path(name).is_dir():
        path = Path(name) / _FILE
        return path if path.is_file() else None
    from huggingface_hub import hf_hub_download

    try:
        return Path(hf_hub_download(name, _FILE, token=token, **options))
    except (OSError, ValueError) as error:
        if find_spec("transformers") is not None:  # it may have another format
            return None
        raise PluginError(_missing_tokenizer_message(name, _first_line(error))) from error


def _load_file(path: Path, name: str) -> Callable[[str], Sized]:
    from tokenizers import Tokenizer

    try:
        found = Tokenizer.from_file(str(path))
    except Exception as error:
        raise PluginError(_missing_tokenizer_message(name, _first_line(error))) from error
    if not found.get_vocab_size(with_added_tokens=False):
        raise PluginError(_missing_tokenizer_message(name, "there is no vocabulary in it"))
    found.no_truncation()
    found.no_padding()

    def encode(text: str) -> Sized:
        tokens: list[int] = found.encode(text).ids
        return tokens

    return encode


def _load_with_transformers(
    name: str, token: str | None, options: dict[str, Any]
) -> Callable[[str], Sized]:
    from transformers import AutoTokenizer

    given = options if token is None else {**options, "token": token}
    try:
        found = AutoTokenizer.from_pretrained(name, trust_remote_code=False, **given)
    except (OSError, ValueError) as error:
        raise PluginError(_missing_tokenizer_message(name, _first_line(error))) from error
    if not has_vocabulary(found):
        raise PluginError(_missing_tokenizer_message(name, "there is no vocabulary in it"))
    encode: Callable[[str], Sized] = found.encode
    return encode


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


def _missing_tokenizer_message(name: str, why: str) -> str:
    return (
        f"no tokenizer can be loaded from {name!r}: {why}; give the folder of one, "
        "or a name at Hugging Face"
    )


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
        problem = _tokenizer_problem(self.path_to_tokenizer)
        if problem:
            yield problem

    def setup(self, worker: WorkerInfo) -> None:
        self._tokenize = load_tokenizer(self.path_to_tokenizer)

    def teardown(self) -> None:
        self._tokenize = None

    def score(self, text: DocumentText) -> float:
        if self._tokenize is None:
            self._tokenize = load_tokenizer(self.path_to_tokenizer)
        tokens = len(self._tokenize(str(text)))
        return len(text) / tokens if tokens else -1.0

    def keeps(self, score: float) -> bool:
        return score >= self.min_char_to_token_ratio


def load_tokenizer(given: "str | Tokenize") -> Tokenize:
    """Return a function that tokenizes a text."""
    problem = _tokenizer_problem(given)
    if problem:
        raise CuratorError(problem)
    if not isinstance(given, str):
        return given
    return _load_sentencepiece(given) if given.endswith(".model") else _load_json(given)


def _tokenizer_problem(given: object) -> str | None:
    if callable(given):
        return None
    if not isinstance(given, str) or not given:
        return f"path_to_tokenizer is {given!r}, but must be a path, a name or a function"
    library = "sentencepiece" if given.endswith(".model") else "tokenizers"
    if not find_spec(library):
        return f"tokenizer {given!r} needs {library}: pip install 'curator-text[tokenizers]'"
    if given.endswith((".model", ".json")) and not Path(given).is_file():
        return f"no such tokenizer: {given}"
    return None


def _load_sentencepiece(path: str) -> Tokenize:
    from sentencepiece import SentencePieceProcessor

    model = SentencePieceProcessor(model_file=path)

    def tokenize(text: str) -> Sized:
        tokens: list[int] = model.encode(text)
        return tokens

    return tokenize


def _load_json(given: str) -> Tokenize:
    from tokenizers import Tokenizer

    path = Path(given) / "tokenizer.json" if Path(given).is_dir() else Path(given)
    model = Tokenizer.from_file(str(path)) if path.is_file() else Tokenizer.from_pretrained(given)

    def tokenize(text: str) -> Sized:
        tokens: list[int] = model.encode(text, add_special_tokens=False).ids
        return tokens

    return tokenize
