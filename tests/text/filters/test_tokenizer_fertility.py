from pathlib import Path

import pytest
from curator_core import CuratorError, DocumentBatch
from curator_core.testing import check_stage
from curator_text import DocumentText, TokenizerFertilityFilter
from curator_text.filters import tokens

ROWS = [{"text": "plain words here"}, {"text": "a b c d"}, {"text": None}]


def words(text: str) -> list[str]:
    return text.split()


def test_tokenizer_can_be_a_function() -> None:
    rule = TokenizerFertilityFilter(words)
    assert rule.score(DocumentText("abc de")) == 3.0
    assert rule.passes("abc de")
    assert not rule.passes("a b c d")
    assert rule.score(DocumentText("\u2003\u00b7")) == 2.0
    check_stage(rule, DocumentBatch.from_pylist(ROWS))


def test_text_without_tokens_is_dropped() -> None:
    rule = TokenizerFertilityFilter(lambda text: [])
    assert rule.score(DocumentText("abc")) == -1
    assert not rule.passes("abc")


@pytest.fixture
def tokenizer_file(tmp_path: Path) -> Path:
    """Save a real tokenizer of whole words."""
    tokenizers = pytest.importorskip("tokenizers")
    model = tokenizers.Tokenizer(tokenizers.models.WordLevel({"<unk>": 0}, unk_token="<unk>"))
    model.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    path = tmp_path / "tokenizer.json"
    model.save(str(path))
    return path


def test_tokenizer_can_be_a_file_or_folder(tokenizer_file: Path) -> None:
    for path in (tokenizer_file, tokenizer_file.parent):
        rule = TokenizerFertilityFilter(str(path))
        assert rule.score(DocumentText("abc de")) == 3.0
        check_stage(rule, DocumentBatch.from_pylist(ROWS))


@pytest.mark.parametrize("name", ["spm.model", "tokenizer.json"])
def test_missing_file_is_a_problem_of_the_plan(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "find_spec", lambda library: library)
    assert list(TokenizerFertilityFilter(name).check()) == [f"no such tokenizer: {name}"]


@pytest.mark.parametrize(
    ("given", "library"), [("spm.model", "sentencepiece"), ("some/name", "tokenizers")]
)
def test_missing_library_is_named_with_its_extra(
    given: str, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokens, "find_spec", lambda library: None)
    problem = f"tokenizer '{given}' needs {library}: pip install 'curator-text[tokenizers]'"
    assert list(TokenizerFertilityFilter(given).check()) == [problem]
    with pytest.raises(CuratorError) as caught:
        TokenizerFertilityFilter(given).score(DocumentText("x"))
    assert str(caught.value) == problem


def test_other_objects_are_refused_as_tokenizer() -> None:
    [problem] = TokenizerFertilityFilter(7).check()
    assert problem.startswith("path_to_tokenizer is 7")
