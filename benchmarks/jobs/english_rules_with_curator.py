"""The 28 English rules, as NeMo Curator has them, over a folder of jsonl.gz, to ids: IN OUT.

CURATOR_TEXT_ENGINE says whether they are asked in Python or compiled.
"""

import json
import sys

import curator_text
from curator_core import LocalExecutor, Pipeline
from curator_text import JsonlReader, JsonlWriter, ScoreFilter

PLAIN = (
    *("NonAlphaNumeric", "SymbolsToWords", "Numbers", "Urls", "WhiteSpace", "Parentheses"),
    *("BoilerPlateString", "RepeatedLines", "RepeatedParagraphs", "RepeatedLinesByChar"),
    *("RepeatedParagraphsByChar", "WordCount", "Punctuation", "WordsWithoutAlphabets"),
    *("CommonEnglishWords", "MeanWordLength", "LongWord", "Ellipsis"),
)
TOP = ((2, 0.2), (3, 0.18), (4, 0.16))
DUPLICATE = ((5, 0.15), (6, 0.14), (7, 0.13), (8, 0.12), (9, 0.11), (10, 0.1))

folder, out = sys.argv[1:3]
rules = [
    *(getattr(curator_text, f"{name}Filter")() for name in PLAIN),
    *(curator_text.RepeatingTopNGramsFilter(n, most) for n, most in TOP),
    *(curator_text.RepeatingDuplicateNGramsFilter(n, most) for n, most in DUPLICATE),
    curator_text.BulletsFilter(),
]
stages = [
    JsonlReader(f"{folder}/*.jsonl.gz"),
    ScoreFilter(rules),
    JsonlWriter(out, fields=["id"]),
]

if __name__ == "__main__":
    assert len(rules) == 28
    result = Pipeline("rules", stages=stages).run(LocalExecutor(workers=0))
    print(json.dumps({"kept": result.stages["jsonl_writer"].items_in}))
