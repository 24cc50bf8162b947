"""Our rule sets beside datatrove's: for every text the same reason, and the same edited text.

Deliberate differences: a blank text is dropped under a name of ours where datatrove keeps it or
fails, and two n-grams are the same where their words are, not where their letters are.
"""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from curator_text import (
    C4ParagraphFilter,
    C4QualityFilter,
    DocumentText,
    FineWebQualityFilter,
    GopherQualityFilter,
    GopherRepetitionFilter,
)
from curator_text.document_text import WordKind
from curator_text.filters.base import EditingRuleSet, RuleSet

REPOSITORY = Path(__file__).parents[3]
PEER = ("datatrove[io]", "orjson", "regex")
KINDS: tuple[WordKind, ...] = ("whitespace", "punctuation", "cjk-aware")

pytestmark = [pytest.mark.soak, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def measuring() -> Iterator[None]:
    """Make the modules of the benchmarks importable."""
    folders = [str(REPOSITORY / name) for name in ("benchmarks", "examples")]
    sys.path[:0] = folders
    yield
    for folder in folders:
        sys.path.remove(folder)


def rows_of(kind: WordKind) -> dict[str, list[RuleSet]]:
    rows: dict[str, list[RuleSet]] = {
        "repetition": [GopherRepetitionFilter(words=kind)],
        "quality": [GopherQualityFilter(words=kind)],
        "c4": [C4QualityFilter()],
        "c4_any_end": [C4QualityFilter(filter_no_terminal_punct=False)],
        "c4_sentences": [C4QualityFilter(split_paragraph=False)],
        "c4_lenient": [
            C4QualityFilter(
                filter_no_terminal_punct=False, min_num_sentences=-1, min_words_per_line=-1
            )
        ],
        "c4_paragraphs": [C4ParagraphFilter()],
        "fineweb": [FineWebQualityFilter(words=kind)],
    }
    rows["row"] = [*rows["repetition"], *rows["quality"], *rows["c4_any_end"], *rows["fineweb"]]
    return rows


def decision(row: list[RuleSet], raw: str) -> list[str | None]:
    text = DocumentText(raw)
    for rules in row:
        if not text or text.isspace():
            return [rules.blank_reason, ""]
        if isinstance(rules, EditingRuleSet):
            text, reason = rules.edited(text)
        else:
            reason = rules.broken_rule(text)
        if reason is not None:
            return [reason, ""]
    return [None, hashlib.md5(text.encode("utf-8", "surrogatepass")).hexdigest()]


def differences(texts: list[str], kind: WordKind, folder: Path) -> list[object]:
    from measuring.peers import peer_python

    path = folder / "texts.jsonl"
    path.write_text("".join(json.dumps(text) + "\n" for text in texts))
    script = REPOSITORY / "benchmarks" / "peers" / "datatrove_rules.py"
    said = subprocess.run(
        [peer_python("datatrove-rules", *PEER), str(script), str(path), kind],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY / "packages" / "text" / "src")},
        capture_output=True,
        text=True,
        check=True,
    )
    rows = rows_of(kind)
    theirs = [json.loads(line) for line in said.stdout.splitlines()]
    return [
        (name, their[name], ours, text[:200])
        for text, their in zip(texts, theirs, strict=True)
        if text.strip()
        for name, row in rows.items()
        if (ours := decision(row, text)) != their[name]
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_agrees_with_datatrove_on_pages(kind: WordKind, measuring: None, tmp_path: Path) -> None:
    import corpus

    texts = [one["text"] for one in corpus.documents(5000, seed=2)]
    assert differences(texts, kind, tmp_path) == []


@pytest.mark.parametrize("kind", KINDS)
def test_agrees_with_datatrove_on_unusual_texts(
    kind: WordKind, measuring: None, tmp_path: Path
) -> None:
    from measuring.odd_texts import odd_texts

    assert differences(list(odd_texts(4000, seed=3)), kind, tmp_path) == []
