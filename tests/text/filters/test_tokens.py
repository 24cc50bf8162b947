import sys
from pathlib import Path
from typing import Any

import pytest
from curator_core import DocumentBatch
from curator_core.errors import PluginError, StageError
from curator_core.testing import run_stage
from curator_text import Score, Text, TokenCountFilter


class Halves:
    """A tokenizer as people have them: an object that encodes."""

    def encode(self, text: str) -> list[str]:
        return [text[i : i + 2] for i in range(0, len(text), 2)]


def test_any_function_counts_tokens() -> None:
    rule = TokenCountFilter(str.split, min_tokens=2, max_tokens=3)
    assert [rule.passes(text) for text in ("a", "a b", "a b c", "a b c d")] == [0, 1, 1, 0]
    assert rule.reason == "not 2 to 3 tokens"
    assert TokenCountFilter(list, min_tokens=2).reason == "fewer than 2 tokens"


def test_an_object_that_encodes_does_too() -> None:
    assert TokenCountFilter(Halves()).score(Text("abcde")) == 3  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tokenizer of three words, saved as Hugging Face saves them."""
    tokenizers = pytest.importorskip("tokenizers")
    transformers = pytest.importorskip("transformers")
    model = tokenizers.models.WordLevel({"[UNK]": 0, "one": 1, "two": 2}, unk_token="[UNK]")
    made = tokenizers.Tokenizer(model)
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    place = tmp_path_factory.mktemp("tokenizer")
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=made, unk_token="[UNK]")
    fast.save_pretrained(place)
    return place


def test_a_tokenizer_is_loaded_from_its_folder(folder: Path) -> None:
    batch = DocumentBatch.from_pylist([{"text": "one, two"}, {"text": "one"}, {"text": None}])
    [kept] = run_stage(TokenCountFilter(hf_model_name=str(folder), min_tokens=2), batch)
    assert kept.num_items == 1
    scored = Score(TokenCountFilter(hf_model_name=str(folder)), "tokens").process(batch)[0]
    assert isinstance(scored, DocumentBatch)
    assert scored.data["tokens"].to_pylist() == [3.0, 1.0, None]


def test_a_folder_without_a_tokenizer_is_named(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    rule = TokenCountFilter(hf_model_name=str(tmp_path))
    with pytest.raises(StageError, match=f"no tokenizer can be loaded from '{tmp_path}': "):
        run_stage(rule, DocumentBatch.from_pylist([{"text": "a"}]))


def test_an_empty_vocabulary_is_no_tokenizer(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    with pytest.raises(PluginError, match=r"no tokenizer can be loaded from .*: there is no v"):
        TokenCountFilter(hf_model_name=str(tmp_path)).score(Text("a"))


def test_a_missing_library_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(
        PluginError, match=r"needs the package transformers: pip install 'curator-t"
    ):
        TokenCountFilter(hf_model_name="x/y").score(Text("a"))


def test_exactly_one_of_both_says_how_to_count() -> None:
    assert list(TokenCountFilter().check()) == [
        "tokenizer and hf_model_name are both missing; give one"
    ]
    assert list(TokenCountFilter(list, "x").check()) == [
        "tokenizer and hf_model_name are both set, but one must decide"
    ]
    risky = TokenCountFilter(
        hf_model_name="x", transformers_init_kwargs={"trust_remote_code": True}
    )
    assert list(risky.check()) == [
        "transformers_init_kwargs has trust_remote_code, but code of others is never run"
    ]


def test_a_name_is_no_tokenizer() -> None:
    name: Any = "gpt2"
    [problem] = TokenCountFilter(name).check()
    assert problem.endswith("a tokenizer of that name is hf_model_name='gpt2'")
