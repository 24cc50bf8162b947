"""What datatrove's rule sets make of texts: TEXTS KIND [FILTERS].

TEXTS has one JSON string in each line. For each one a line goes out: by rule set the reason why
the text goes (null where it stays) and the hash of what it is then. KIND says what a word is; the
words and sentences are ours, so that only the rules are compared. Run it with datatrove's Python,
with PYTHONPATH at packages/text/src.
"""

import hashlib
import json
import sys
from collections.abc import Callable

from curator_text.document_text import tokenized
from curator_text.filters.c4 import sentences
from datatrove.data import Document
from datatrove.pipeline.filters import (
    C4ParagraphFilter,
    C4QualityFilter,
    FineWebQualityFilter,
    GopherQualityFilter,
    GopherRepetitionFilter,
)
from datatrove.utils.word_tokenizers import WordTokenizer


class Ours(WordTokenizer):
    """Our words and sentences in the shape that datatrove asks for."""

    def __init__(self, kind: str) -> None:
        super().__init__("en")
        self.kind = kind

    def word_tokenize(self, text: str) -> list[str]:
        return tokenized(text, self.kind)

    def sent_tokenize(self, text: str) -> list[str]:
        return [sentence.strip() for sentence in sentences(text)]

    def span_tokenize(self, text: str) -> list[tuple[int, int]]:
        spans, start = [], 0
        for sentence in sentences(text):
            spans.append((start, start + len(sentence)))
            start += len(sentence)
        return spans


def sets(kind: str) -> dict[str, list[Callable[[Document], object]]]:
    """The rows of filters that are compared, by name."""
    words = {"language": Ours(kind)}
    lines = {**words, "filter_no_terminal_punct": False}
    rows = {
        "repetition": [GopherRepetitionFilter(**words)],
        "quality": [GopherQualityFilter(**words)],
        "c4": [C4QualityFilter(**words)],
        "c4_any_end": [C4QualityFilter(**lines)],
        "c4_sentences": [C4QualityFilter(**words, split_paragraph=False)],
        "c4_lenient": [C4QualityFilter(**lines, min_num_sentences=-1, min_words_per_line=-1)],
        "c4_paragraphs": [C4ParagraphFilter()],
        "fineweb": [FineWebQualityFilter(**words)],
    }
    rows["row"] = [*rows["repetition"], *rows["quality"], *rows["c4_any_end"], *rows["fineweb"]]
    return {name: [each.filter for each in row] for name, row in rows.items()}


def decision(row: list[Callable[[Document], object]], text: str) -> tuple[str | None, str]:
    document = Document(text=text, id="")
    for judge in row:
        try:
            said = judge(document)
        except Exception as error:  # noqa: BLE001 - that it fails is what is to be known
            return f"raises {type(error).__name__}", ""
        if said is not True:
            return said[1], ""
    return None, hashlib.md5(document.text.encode("utf-8", "surrogatepass")).hexdigest()


def main() -> None:
    path, kind, *names = sys.argv[1:]
    rows = sets(kind)
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            text = json.loads(line)
            said = {name: decision(rows[name], text) for name in names or rows}
            sys.stdout.write(json.dumps(said) + "\n")


if __name__ == "__main__":
    main()
