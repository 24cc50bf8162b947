"""Prompts: the template around a text."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from curator_models.locating import ModelError

PLACE = "{text}"

_MARK = "\ue000text\ue001"
"""Placeholder for the text while the tokenizer applies its chat template."""


@dataclass(frozen=True)
class Prompt:
    """A template around a text. Overlong input is cut from the text, never from the template."""

    template: str = PLACE
    chat: bool = False
    """Use the model's own chat template, if no template is given."""

    def problems(self) -> Iterable[str]:
        if self.template.count(PLACE) != 1:
            yield f"the template has {self.template.count(PLACE)} places for {PLACE}, but needs one"

    def tokens(self, tokenizer: Any, texts: Sequence[str], most: int) -> Sequence[list[int]]:
        """Return the tokens of each text, at most `most` each."""
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
            while len(tokens) > most:  # a text may gain a token where it joins the template
                left -= len(tokens) - most
                whole = before + _cut(tokenizer, texts[row], left) + after
                [tokens] = _encoded(tokenizer, [whole], add_special_tokens=marked)
            made[row] = tokens
        return made

    def _around(self, tokenizer: Any) -> tuple[str, str, bool]:
        """Return the template before and after the text, and whether to add special tokens."""
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
    """Return the longest beginning of a text with at most `most` tokens."""
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
