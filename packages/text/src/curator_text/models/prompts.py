"""Prompts: what is put around a text before a model sees it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from curator_models.locating import ModelError

PLACE = "{text}"

_MARK = "\ue000text\ue001"
"""Stands for the text while a tokenizer puts its own words around it."""


@dataclass(frozen=True)
class Prompt:
    """A template around a text. What is too long is cut from the text, never from the template."""

    template: str = PLACE
    chat: bool = False
    """Whether the model's own template for chats is used, where none is given."""

    def problems(self) -> Iterable[str]:
        if self.template.count(PLACE) != 1:
            yield f"the template has {self.template.count(PLACE)} places for {PLACE}, but needs one"

    def tokens(self, tokenizer: Any, texts: Sequence[str], most: int) -> Sequence[list[int]]:
        """The tokens of each text, at most so many of them."""
        before, after, marked = self._around(tokenizer)
        if not (before or after):
            return _encoded(tokenizer, texts, truncation=True, max_length=most)
        room = most - len(_encoded(tokenizer, [before + after], add_special_tokens=marked)[0])
        if room < 1:
            raise ModelError(
                f"the template alone has {most - room} tokens, but max_seq_length is {most}"
            )
        made = _encoded(
            tokenizer,
            [before + _cut(tokenizer, text, room) + after for text in texts],
            add_special_tokens=marked,
        )
        for row, tokens in enumerate(made):
            left = room
            while len(tokens) > most:  # joined to the template, a text may have a token more
                left -= len(tokens) - most
                whole = before + _cut(tokenizer, texts[row], left) + after
                [tokens] = _encoded(tokenizer, [whole], add_special_tokens=marked)
            made[row] = tokens
        return made

    def _around(self, tokenizer: Any) -> tuple[str, str, bool]:
        """What stands before and behind a text, and whether the tokenizer adds marks of its own."""
        if not self.chat or self.template != PLACE:
            before, _, after = self.template.partition(PLACE)
            return before, after, True
        if not getattr(tokenizer, "chat_template", None):
            raise ModelError(
                "the model has no template for chats: give its prompt in prompt_template, with "
                "{text} in the place of the text"
            )
        messages = [{"role": "user", "content": _MARK}]
        shown = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        before, _, after = str(shown).partition(_MARK)
        return before, after, False


def _encoded(tokenizer: Any, texts: Sequence[str], **options: Any) -> list[list[int]]:
    made = tokenizer(
        list(texts), return_attention_mask=False, return_token_type_ids=False, **options
    )
    return list(made["input_ids"])


def _cut(tokenizer: Any, text: str, most: int) -> str:
    """The beginning of a text that has so many tokens."""
    if most < 1:
        return ""
    made = tokenizer(
        text,
        add_special_tokens=False,
        truncation=True,
        max_length=most,
        return_offsets_mapping=True,
    )
    ends = [end for _, end in made["offset_mapping"]]
    return text[: max(ends, default=0)]
