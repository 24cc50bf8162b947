from pathlib import Path

import pytest
from curator_core import CuratorError, DocumentBatch
from curator_core.testing import check_stage
from curator_text import DocumentText, TokenizerFertilityFilter
from curator_text.filters import tokens

ROWS = [{"text": "plain words here"}, {"text": "a b c d"}, {"text": None}]


def words(text: str) -> list[str]:
    return text.split()


def test_a_function_may_be_the_tokenizer() -> None:
    rule = TokenizerFertilityFilter(words)
    assert rule.score(DocumentText("abc de")) == 3.0
    assert rule.passes("abc de")
    assert not rule.passes("a b c d")
    assert rule.score(DocumentText("\u2003\u00b7")) == 2.0
    check_stage(rule, DocumentBatch.from_pylist(ROWS))


def test_no_token_at_all_is_too_few() -> None:
    rule = TokenizerFertilityFilter(lambda text: [])
    assert rule.score(DocumentText("abc")) == -1
    assert not rule.passes("abc")


@pytest.fixture
def tokenizer_file(tmp_path: Path) -> Path:
    """A real tokenizer of whole words, made here."""
    tokenizers = pytest.importorskip("tokenizers")
    model = tokenizers.Tokenizer(tokenizers.models.WordLevel({"<unk>": 0}, unk_token="<unk>"))
    model.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    path = tmp_path / "tokenizer.json"
    model.save(str(path))
    return path


def test_so_may_a_file_or_its_folder(tokenizer_file: Path) -> None:
    for path in (tokenizer_file, tokenizer_file.parent):
        rule = TokenizerFertilityFilter(str(path))
        assert rule.score(DocumentText("abc de")) == 3.0
        check_stage(rule, DocumentBatch.from_pylist(ROWS))


@pytest.mark.parametrize("name", ["spm.model", "tokenizer.json"])
def test_a_file_that_is_not_there_is_a_problem_of_the_plan(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokens, "find_spec", lambda library: library)
    assert list(TokenizerFertilityFilter(name).check()) == [f"no such tokenizer: {name}"]


@pytest.mark.parametrize(
    ("given", "library"), [("spm.model", "sentencepiece"), ("some/name", "tokenizers")]
)
def test_a_library_that_is_missing_is_named_with_its_extra(
    given: str, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokens, "find_spec", lambda library: None)
    problem = f"tokenizer '{given}' needs {library}: pip install 'curator-text[tokenizers]'"
    assert list(TokenizerFertilityFilter(given).check()) == [problem]
    with pytest.raises(CuratorError) as caught:
        TokenizerFertilityFilter(given).score(DocumentText("x"))
    assert str(caught.value) == problem


def test_what_is_no_tokenizer_is_said_to_be_none() -> None:
    assert list(TokenizerFertilityFilter(7).check()) == [
        "path_to_tokenizer is 7, but must be a path, a name or a function"
    ]
