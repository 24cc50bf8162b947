from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
import tiny_models as made
from curator_models.hub import ModelError
from curator_models.transformers_compat import import_transformers
from curator_text.models.tokenizer import Prompt, TokenRows, token_column
from hypothesis import given
from hypothesis import strategies as st

Tiny = Callable[[str], str]


@given(words=st.lists(st.sampled_from(made.WORDS), max_size=30), most=st.integers(6, 20))
def test_template_is_never_truncated(tiny: Tiny, words: list[str], most: int) -> None:
    tokenizer = import_transformers().AutoTokenizer.from_pretrained(tiny("labels"))
    [tokens] = Prompt("stone {text} cheap").tokens(tokenizer, [" ".join(words)], most)

    found = tokenizer.convert_ids_to_tokens(tokens)
    room = most - 4
    assert found == ["[CLS]", "stone", *words[:room], "cheap", "[SEP]"]


def test_template_without_room_for_text_is_refused(tiny: Tiny) -> None:
    tokenizer = import_transformers().AutoTokenizer.from_pretrained(tiny("labels"))
    with pytest.raises(ModelError, match="template alone has 4 tokens, but max_seq_length is 4"):
        Prompt("stone {text} cheap").tokens(tokenizer, ["river"], 4)


def test_template_must_have_one_placeholder() -> None:
    assert list(Prompt("{text}").problems()) == []
    [problem] = Prompt("none").problems()
    assert "{text} 0 times" in problem
    assert len(list(Prompt("{text} {text}").problems())) == 1


TOKENS = st.lists(st.none() | st.lists(st.integers(1, 2**31 - 1), max_size=5), max_size=12)


@given(tokens=TOKENS, start=st.integers(0, 12), cut=st.integers(0, 12))
def test_tokens_are_restored_from_slices_of_columns(
    tokens: list[list[int] | None], start: int, cut: int
) -> None:
    column = pa.chunked_array([token_column(tokens[:cut]), token_column(tokens[cut:])]).slice(start)
    rows = TokenRows.of(column)

    expected = {place: row for place, row in enumerate(tokens[start:]) if row}
    assert rows.rows == list(expected)
    assert rows.lengths == [len(row) for row in expected.values()]
    if not expected:
        return
    places = list(range(len(rows.rows)))[::-1]
    for side in ("right", "left"):
        ids, mask = rows.padded(places, pad=0, side=side)
        for line, place in enumerate(places):
            assert ids[line][mask[line] == 1].tolist() == expected[rows.rows[place]]
            assert not ids[line][mask[line] == 0].any()
            edge = mask[line][:: 1 if side == "right" else -1]
            assert (np.diff(edge) <= 0).all(), "filled up on one side only"
