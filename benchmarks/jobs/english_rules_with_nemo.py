"""NeMo Curator's 28 English rules called directly, one after another, to ids: IN OUT.

A document that a rule drops is shown to no further rule. It needs PYTHONPATH at benchmarks/peers.
"""

import gzip
import json
import sys
from pathlib import Path

from nemo_rules import open_packages

open_packages()

from nemo_curator.stages.text.filters.heuristic import string  # noqa: E402 - opened above
from nemo_curator.stages.text.filters.heuristic.repetition import repetition  # noqa: E402

FIRST = (
    *("NonAlphaNumeric", "SymbolsToWords", "Numbers", "Urls", "WhiteSpace", "Parentheses"),
    "BoilerPlateString",
)
REPEATED = ("Lines", "Paragraphs", "LinesByChar", "ParagraphsByChar")
LATER = (
    *("WordCount", "Punctuation", "WordsWithoutAlphabets", "CommonEnglishWords"),
    *("MeanWordLength", "LongWord", "Ellipsis"),
)
TOP = ((2, 0.2), (3, 0.18), (4, 0.16))
DUPLICATE = ((5, 0.15), (6, 0.14), (7, 0.13), (8, 0.12), (9, 0.11), (10, 0.1))

folder, out = map(Path, sys.argv[1:3])
rules = [
    *(getattr(string, f"{name}Filter")() for name in FIRST),
    *(getattr(repetition, f"Repeated{name}Filter")() for name in REPEATED),
    *(getattr(string, f"{name}Filter")() for name in LATER),
    *(repetition.RepeatingTopNGramsFilter(n, most) for n, most in TOP),
    *(repetition.RepeatingDuplicateNGramsFilter(n, most) for n, most in DUPLICATE),
    string.BulletsFilter(),
]


def stays(text: str) -> bool:
    return all(rule.keep_document(rule.score_document(text)) for rule in rules)


if __name__ == "__main__":
    assert len(rules) == 28
    out.mkdir(parents=True)
    kept = 0
    with open(out / "kept.jsonl", "w") as target:
        for path in sorted(folder.glob("*.jsonl.gz")):
            with gzip.open(path, "rt", encoding="utf-8") as lines:
                for line in lines:
                    record = json.loads(line)
                    if stays(record["text"]):
                        kept += 1
                        target.write(json.dumps({"id": record["id"]}) + "\n")
    print(json.dumps({"kept": kept}))
