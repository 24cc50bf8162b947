"""Hostile texts: each gets an answer in reasonable time."""

import time
from collections.abc import Callable

import pytest
from curator_core import DocumentBatch
from curator_core.testing import run_stage
from curator_text import SequenceClassifier, TextEmbedder

HOSTILE = {
    "one endless word": "x" * 20_000_000,
    "one endless line": "river casino " * 2_000_000,
    "endless marks": "a" + "\u0301" * 1_000_000,
    "nothing but zeros": "\x00" * 1000,
    "right to left": "\u202e\u05e9\u05dc\u05d5\u05dd\u202c",
    "no spaces": "今日は良い天気です。" * 500,
    "beyond the basic plane": "\U0001f9ff\U0010fffd" * 100,
    "special tokens": "[CLS] [SEP] [PAD] [UNK] </s> <|endoftext|> [INST]",
    "white space, then text": " " * 70_000 + "river",
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_texts_get_an_answer(tiny: Callable[[str], str], kind: str) -> None:
    task = DocumentBatch.from_pylist([{"text": HOSTILE[kind]}, {"text": "river"}])
    started = time.process_time()
    [labelled] = run_stage(SequenceClassifier(model=tiny("labels"), device="cpu"), task)
    [embedded] = run_stage(TextEmbedder(model=tiny("sentences"), device="cpu"), task)
    seconds = time.process_time() - started

    first, second = labelled.data["label"].to_pylist()
    assert (first is None) == (kind == "white space, then text"), (
        "max_chars contains only white space"
    )
    assert second is not None
    assert embedded.data["embedding"].to_pylist()[1] is not None
    assert seconds < 5
