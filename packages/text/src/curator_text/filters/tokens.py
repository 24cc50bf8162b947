"""Rules over the tokens that a model would make of a text."""

from collections.abc import Callable, Iterable, Sized
from dataclasses import dataclass, field
from typing import Any, ClassVar

from curator_core import WorkerInfo
from curator_core.errors import PluginError
from curator_core.places import NodeInfo
from curator_models.loading import knows_words

from curator_text.filtering import TextFilter
from curator_text.texts import Text


@dataclass
class TokenCountFilter(TextFilter):
    """Drops texts that are too short or too long for a model, counted in its own tokens.

    A tokenizer of Hugging Face counts the marks that it puts around every text as well.
    """

    cost: ClassVar[float] = 2000.0

    tokenizer: Callable[[str], Sized] | None = None
    """A function that gives the tokens of a text, or an object with a method `encode` that does."""

    hf_model_name: str | None = None
    """In its place the folder of a tokenizer, or its name at Hugging Face, which is asked once
    for each node. Needs `curator-text[models]`."""

    min_tokens: int = 0
    """The fewest tokens a text may have."""

    max_tokens: int | None = None
    """The most tokens a text may have."""

    transformers_init_kwargs: dict[str, Any] = field(default_factory=dict)
    """What else to load the tokenizer with, such as `revision`. Code of others is never run."""

    def check(self) -> Iterable[str]:
        yield from super().check()
        if (self.tokenizer is None) == (self.hf_model_name is None):
            both = "both set, but one must decide" if self.tokenizer else "both missing; give one"
            yield f"tokenizer and hf_model_name are {both}"
        elif isinstance(self.tokenizer, str):
            name = self.tokenizer
            yield (
                f"tokenizer is the text {name!r}, but must be a function or an object with a "
                f"method encode; a tokenizer of that name is hf_model_name={name!r}"
            )
        if "trust_remote_code" in self.transformers_init_kwargs:
            yield "transformers_init_kwargs has trust_remote_code, but code of others is never run"

    @property
    def reason(self) -> str:
        if self.max_tokens is None:
            return f"fewer than {self.min_tokens} tokens"
        return f"not {self.min_tokens} to {self.max_tokens} tokens"

    def needs_no_setup(self) -> bool:
        return self.hf_model_name is None

    def setup_on_node(self, node: NodeInfo) -> None:
        if self.hf_model_name is not None:
            _tokenizer(self.hf_model_name, self.transformers_init_kwargs)

    def setup(self, worker: WorkerInfo) -> None:
        tokenizer: Any = self.tokenizer
        if self.hf_model_name is not None:
            tokenizer = _tokenizer(self.hf_model_name, self.transformers_init_kwargs)
        self._encode: Callable[[str], Sized] = getattr(tokenizer, "encode", tokenizer)

    def teardown(self) -> None:
        vars(self).pop("_encode", None)

    def score(self, text: Text) -> float:
        if "_encode" not in vars(self):
            self.setup(WorkerInfo())
        return len(self._encode(str(text)))

    def keeps(self, score: float) -> bool:
        return self.min_tokens <= score and (self.max_tokens is None or score <= self.max_tokens)


def _tokenizer(name: str, options: dict[str, Any]) -> Any:
    try:
        from transformers import AutoTokenizer
    except ImportError:
        raise PluginError(
            f"the tokenizer {name!r} needs the package transformers: "
            "pip install 'curator-text[models]', or give a function as tokenizer"
        ) from None
    try:
        found = AutoTokenizer.from_pretrained(name, trust_remote_code=False, **options)
    except (OSError, ValueError) as error:
        first = str(error).strip().partition("\n")[0]
        raise PluginError(_lack_of_tokenizer(name, first)) from error
    if not knows_words(found):
        raise PluginError(_lack_of_tokenizer(name, "there is no vocabulary in it"))
    return found


def _lack_of_tokenizer(name: str, why: str) -> str:
    return (
        f"no tokenizer can be loaded from {name!r}: {why}; give the folder of one, "
        "or a name at Hugging Face"
    )
