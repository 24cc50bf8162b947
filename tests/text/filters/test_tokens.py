import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from curator_core import DocumentBatch
from curator_core.errors import PluginError, StageError
from curator_core.testing import run_stage
from curator_text import DocumentText, Score, TokenCountFilter
from curator_text.filters import tokens


class Halves:
    """A tokenizer as people have them: an object that encodes."""

    def encode(self, text: str) -> list[str]:
        return [text[i : i + 2] for i in range(0, len(text), 2)]


def test_any_function_counts_tokens() -> None:
    rule = TokenCountFilter(str.split, min_tokens=2, max_tokens=3)
    assert [rule.passes(text) for text in ("a", "a b", "a b c", "a b c d")] == [0, 1, 1, 0]
    assert rule.reason == "fewer than 2 or more than 3 tokens"
    assert TokenCountFilter(list, min_tokens=2).reason == "fewer than 2 tokens"


def test_an_object_that_encodes_does_too() -> None:
    assert TokenCountFilter(Halves()).score(DocumentText("abcde")) == 3  # type: ignore[arg-type]


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
        TokenCountFilter(hf_model_name=str(tmp_path)).score(DocumentText("a"))


def _without(monkeypatch: pytest.MonkeyPatch, *modules: str) -> None:
    def found(name: str) -> object:
        return None if name in modules else find_spec(name)

    monkeypatch.setattr(tokens, "find_spec", found)
    for name in modules:
        monkeypatch.setitem(sys.modules, name, None)


def test_tokens_are_counted_without_transformers(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _without(monkeypatch, "transformers", "torch")
    rule = TokenCountFilter(hf_model_name=str(folder), min_tokens=2)
    assert list(rule.check()) == []
    [kept] = run_stage(rule, DocumentBatch.from_pylist([{"text": "one, two"}, {"text": "one"}]))
    assert kept.data["text"].to_pylist() == ["one, two"]


def test_a_text_is_counted_whole_whatever_the_tokenizer_was_saved_with(folder: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    short = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    short.enable_truncation(2)
    short.enable_padding(length=9)
    saved = folder.parent / "short"
    saved.mkdir(exist_ok=True)
    short.save(str(saved / "tokenizer.json"))
    assert TokenCountFilter(hf_model_name=str(saved)).score(DocumentText("one two one")) == 3


@pytest.mark.parametrize(
    ("missing", "options", "extra"),
    [
        (("tokenizers", "transformers"), {}, "tokenizers"),
        (("transformers",), {"transformers_init_kwargs": {"use_fast": False}}, "models"),
    ],
)
def test_what_is_missing_is_a_problem_of_the_plan(
    missing: tuple[str, ...],
    options: dict[str, Any],
    extra: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _without(monkeypatch, *missing)
    rule = TokenCountFilter(hf_model_name="x/y", **options)
    [problem] = rule.check()
    assert "'x/y'" in problem
    assert f"curator-text[{extra}]" in problem
    with pytest.raises(PluginError) as caught:
        rule.score(DocumentText("a"))
    assert str(caught.value) == problem


def test_a_folder_in_another_format_needs_transformers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "vocab.txt").write_text("one")
    _without(monkeypatch, "transformers")
    [problem] = TokenCountFilter(hf_model_name=str(tmp_path)).check()
    assert "curator-text[models]" in problem


def test_the_token_is_handed_on_and_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    hub = pytest.importorskip("huggingface_hub")
    asked: list[dict[str, Any]] = []

    def refuse(*names: str, **options: Any) -> str:
        asked.append({"names": names, **options})
        raise OSError("401 Unauthorized")

    monkeypatch.setattr(hub, "hf_hub_download", refuse)
    _without(monkeypatch, "transformers")
    rule = TokenCountFilter(None, "x/y", "hf_abc", transformers_init_kwargs={"revision": "v1"})
    with pytest.raises(PluginError, match="401 Unauthorized"):
        rule.score(DocumentText("a"))
    assert asked == [{"names": ("x/y", "tokenizer.json"), "token": "hf_abc", "revision": "v1"}]
    assert "hf_abc" not in repr(rule)


def test_exactly_one_of_both_says_how_to_count() -> None:
    assert list(TokenCountFilter().check()) == [
        "tokenizer and hf_model_name are both missing; give one"
    ]
    assert list(TokenCountFilter(list, "x").check()) == [
        "tokenizer and hf_model_name are both set; set only one"
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
