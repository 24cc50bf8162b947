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
    """A custom tokenizer: an object with an `encode` method."""

    def encode(self, text: str) -> list[str]:
        return [text[i : i + 2] for i in range(0, len(text), 2)]


def test_function_can_count_tokens() -> None:
    rule = TokenCountFilter(str.split, min_tokens=2, max_tokens=3)
    assert [rule.passes(text) for text in ("a", "a b", "a b c", "a b c d")] == [0, 1, 1, 0]
    assert rule.reason == "fewer than 2 or more than 3 tokens"
    assert TokenCountFilter(list, min_tokens=2).reason == "fewer than 2 tokens"


def test_object_with_encode_can_count_tokens() -> None:
    assert TokenCountFilter(Halves()).score(DocumentText("abcde")) == 3  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Save a tokenizer of three words as Hugging Face does."""
    tokenizers = pytest.importorskip("tokenizers")
    transformers = pytest.importorskip("transformers")
    model = tokenizers.models.WordLevel({"[UNK]": 0, "one": 1, "two": 2}, unk_token="[UNK]")
    made = tokenizers.Tokenizer(model)
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    place = tmp_path_factory.mktemp("tokenizer")
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=made, unk_token="[UNK]")
    fast.save_pretrained(place)
    return place


def test_tokenizer_is_loaded_from_a_folder(folder: Path) -> None:
    batch = DocumentBatch.from_pylist([{"text": "one, two"}, {"text": "one"}, {"text": None}])
    [kept] = run_stage(TokenCountFilter(hf_model_name=str(folder), min_tokens=2), batch)
    assert kept.num_items == 1
    scored = Score(TokenCountFilter(hf_model_name=str(folder)), "tokens").process(batch)[0]
    assert isinstance(scored, DocumentBatch)
    assert scored.data["tokens"].to_pylist() == [3.0, 1.0, None]


def test_folder_without_a_tokenizer_is_named(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    rule = TokenCountFilter(hf_model_name=str(tmp_path))
    with pytest.raises(StageError, match=f"no tokenizer can be loaded from '{tmp_path}': "):
        run_stage(rule, DocumentBatch.from_pylist([{"text": "a"}]))


def test_empty_vocabulary_is_refused(tmp_path: Path) -> None:
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


def test_truncation_of_the_saved_tokenizer_is_ignored(folder: Path) -> None:
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
def test_missing_option_is_a_problem_of_the_plan(
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


def test_other_tokenizer_formats_need_transformers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "vocab.txt").write_text("one")
    _without(monkeypatch, "transformers")
    [problem] = TokenCountFilter(hf_model_name=str(tmp_path)).check()
    assert "curator-text[models]" in problem


def test_access_token_is_passed_on_and_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_exactly_one_way_to_count_is_required() -> None:
    for rule, state in ((TokenCountFilter(), "missing"), (TokenCountFilter(list, "x"), "set")):
        [problem] = rule.check()
        assert f"tokenizer and hf_model_name are both {state}" in problem
    risky = TokenCountFilter(
        hf_model_name="x", transformers_init_kwargs={"trust_remote_code": True}
    )
    [problem] = risky.check()
    assert "transformers_init_kwargs has trust_remote_code" in problem


def test_name_is_not_a_tokenizer() -> None:
    name: Any = "gpt2"
    [problem] = TokenCountFilter(name).check()
    assert problem.endswith("a tokenizer of that name is hf_model_name='gpt2'")
