"""NeMo Curator's heuristic filters, called directly: INPUT OUTPUT, both JSON lines.

Runs in an environment of its own, which holds its text filters and what they import, but none of
the engines that `import nemo_curator` asks for. So its packages' front doors stay closed here.
"""

import importlib.util
import json
import sys
import types
from collections import Counter
from pathlib import Path

PACKAGES = (
    "nemo_curator",
    "nemo_curator.stages",
    "nemo_curator.stages.text",
    "nemo_curator.stages.text.filters",
    "nemo_curator.stages.text.filters.heuristic",
    "nemo_curator.stages.text.filters.heuristic.repetition",
    "nemo_curator.stages.text.utils",
)
STRING = (
    *("NonAlphaNumeric", "SymbolsToWords", "Numbers", "Urls", "WhiteSpace", "Parentheses"),
    *("BoilerPlateString", "WordCount", "Punctuation", "WordsWithoutAlphabets"),
    *("CommonEnglishWords", "MeanWordLength", "LongWord", "Ellipsis", "Bullets"),
    "PornographicUrls",
)
REPEATED = ("Lines", "Paragraphs", "LinesByChar", "ParagraphsByChar")
REQUIREMENTS = ("--no-deps", "nemo-curator==1.4.0", "regex", "loguru")


def open_packages() -> None:
    """Stand in for the packages, so that their modules are found and their __init__ is not run."""
    spec = importlib.util.find_spec("nemo_curator")
    root = Path(spec.submodule_search_locations[0]).parent
    for name in PACKAGES:
        package = types.ModuleType(name)
        package.__path__ = [str(root / name.replace(".", "/"))]
        sys.modules[name] = package


def rules() -> dict:
    from nemo_curator.stages.text.filters.heuristic import string
    from nemo_curator.stages.text.filters.heuristic.repetition import repetition

    plain = [getattr(string, f"{name}Filter") for name in STRING]
    plain += [getattr(repetition, f"Repeated{name}Filter") for name in REPEATED]
    found = {kind.__name__: kind() for kind in plain}
    for n, most in ((2, 0.2), (3, 0.18), (4, 0.16)):
        found[f"RepeatingTopNGramsFilter {n}"] = repetition.RepeatingTopNGramsFilter(n, most)
    for n in (2, 5, 6, 7, 8, 9, 10):
        most = 0.2 - n / 100
        rule = repetition.RepeatingDuplicateNGramsFilter(n, most)
        found[f"RepeatingDuplicateNGramsFilter {n}"] = rule
    found["SubstringFilter"] = string.SubstringFilter("the ", "any")
    return found


def possible_scores(text: str, n: int) -> list[float]:
    """The scores of all n-grams that are the commonest: theirs takes any, by the hash seed."""
    words = text.split()
    counts = Counter(zip(*[words[i:] for i in range(n)], strict=False))
    most = max(counts.values(), default=0)
    commonest = [" ".join(gram) for gram, count in counts.items() if count == most]
    return sorted({(len(text) - len(text.replace(gram, ""))) / len(text) for gram in commonest})


def outcome(name: str, rule: object, text: str) -> dict | None:
    try:
        score = rule.score_document(text)
    except Exception as error:  # noqa: BLE001 - what it raises is a result here
        return {"error": f"{type(error).__name__}: {error}"}
    found = {"score": float(score), "keeps": bool(rule.keep_document(score))}
    if name.startswith("RepeatingTopN"):
        possible = possible_scores(text, int(name.split()[1]))
        return {**found, "among": possible} if len(possible) > 1 else found
    return found


def main(source: str, target: str) -> None:
    open_packages()
    chosen = rules()
    with open(source) as lines, open(target, "w") as out:
        for line in lines:
            text = json.loads(line)["text"]
            found = {name: outcome(name, rule, text) for name, rule in chosen.items()}
            out.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
