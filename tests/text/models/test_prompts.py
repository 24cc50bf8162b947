from collections.abc import Callable

import pytest
import tiny_models as made
from curator_models.importing import transformers
from curator_models.locating import ModelError
from curator_text.models.prompts import Prompt
from hypothesis import given
from hypothesis import strategies as st

Tiny = Callable[[str], str]


@given(words=st.lists(st.sampled_from(made.WORDS), max_size=30), most=st.integers(6, 20))
def test_the_template_is_whole_whatever_the_text(tiny: Tiny, words: list[str], most: int) -> None:
    tokenizer = transformers().AutoTokenizer.from_pretrained(tiny("labels"))
    [tokens] = Prompt("stone {text} cheap").tokens(tokenizer, [" ".join(words)], most)

    told = tokenizer.convert_ids_to_tokens(tokens)
    room = most - 4
    assert told == ["[CLS]", "stone", *words[:room], "cheap", "[SEP]"]


def test_a_template_that_leaves_no_room(tiny: Tiny) -> None:
    tokenizer = transformers().AutoTokenizer.from_pretrained(tiny("labels"))
    with pytest.raises(ModelError, match="template alone has 4 tokens, but max_seq_length is 4"):
        Prompt("stone {text} cheap").tokens(tokenizer, ["river"], 4)


def test_a_template_has_one_place() -> None:
    assert list(Prompt("{text}").problems()) == []
    assert list(Prompt("none").problems()) == [
        "the template has 0 places for {text}, but needs one"
    ]
    assert len(list(Prompt("{text} {text}").problems())) == 1
