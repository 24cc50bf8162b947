import pickle
from pathlib import Path

import pytest
from curator_text import C4BadWordsFilter, DocumentText

REASON = "document_removed_with_badwords"


@pytest.mark.parametrize(
    ("text", "goes"),
    [
        ("There is a grubby thing.", True),
        ("GRUBBY", True),
        ("(grubby)", True),
        ("grubbys are others", False),
        ("un_grubby", False),
        ("2 big thumbs", True),
        ("2 big\nthumbs", False),
        ("12 big thumbs", False),
        ("this is a+", True),
        ("ba+", False),
    ],
)
def test_words_match_at_word_boundaries(text: str, goes: bool) -> None:
    rules = C4BadWordsFilter(["Grubby", "2 big thumbs", "a+", ""])
    assert rules.broken_rule(DocumentText(text)) == (REASON if goes else None)


@pytest.mark.parametrize(("language", "goes"), [("en", False), ("zh", True), ("ja", True)])
def test_words_match_anywhere_in_languages_without_spaces(language: str, goes: bool) -> None:
    rules = C4BadWordsFilter(["坏话"], language=language)
    assert (rules.broken_rule(DocumentText("他说坏话了")) == REASON) is goes


def test_words_can_be_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_text("grubby\n\n schäbig \n")
    rules = C4BadWordsFilter(str(path))
    assert list(rules.check()) == []
    assert rules.broken_rule(DocumentText("Das ist SCHÄBIG.")) == REASON
    again = pickle.loads(pickle.dumps(rules))
    assert again == rules
    assert again.broken_rule(DocumentText("a grubby thing")) == REASON


def test_invalid_options_are_problems_of_the_plan(tmp_path: Path) -> None:
    [said] = C4BadWordsFilter(str(tmp_path / "none.txt")).check()
    assert said.startswith(f"the bad words cannot be read from {tmp_path}/none.txt: ")
    assert list(C4BadWordsFilter([""], keep_fraction=2).check()) == [
        "keep_fraction is 2, but must be between 0 and 1",
        "bad_words names no words",
    ]


def test_share_to_keep_is_deterministic() -> None:
    texts = [DocumentText(f"grubby {number}") for number in range(400)]
    rules = C4BadWordsFilter(["grubby"], keep_fraction=0.25)
    kept = [text for text in texts if rules.broken_rule(text) is None]
    assert 60 < len(kept) < 140
    assert kept == [text for text in texts if rules.broken_rule(text) is None]
    other = C4BadWordsFilter(["grubby"], keep_fraction=0.25, seed=1)
    assert kept != [text for text in texts if other.broken_rule(text) is None]
    assert C4BadWordsFilter(["grubby"], keep_fraction=1).broken_rule(texts[0]) is None
