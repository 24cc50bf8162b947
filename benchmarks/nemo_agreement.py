"""Whether our rules say what those of NeMo Curator say, score by score.

Documents are those of the examples, and hostile ones. Its filters run in an environment of their
own. Where an outcome differs, the rule and the text are shown, and the end is a failure.
"""

import json
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import curator_text
from curator_text import DocumentText, TextFilter
from measuring.peers import peer_python
from peers.nemo_rules import REQUIREMENTS

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "examples"))

from corpus import documents  # noqa: E402 - the examples are no package of their own

DOCUMENTS = 500
BROKEN = 3000
PIECES = [
    *("the", "and", "with", "wording", "Ⅷ", "½", "٣٤", "12", "#", "##", "#a", "...", "…", "[...]"),
    *("-»", "read more", "Read More..", "lorem ipsum", "privacy policy", "uses cookies", "(", "]"),
    *("⟨", "⟩", "http://a.b/porn", "https://x.y/%20%2z?q=1", "http://", "\n", "\n", "\n\n", " "),
    *("\n\n", "\t", "\r", "\b", "\x0b", "\x1c", "\x85", "\u00a0", "\u2028", "\u3000", "\ufeff"),
    *("\x00", "\ud800", "e\u0301", "שלום", "好好", "今天天气很好。", "สวัสดี", "• a", "◦", "- b"),
    *("end.", 'said"', "it's", "ﬁ", "İ", "ß", "ΣΑΣ", "a" * 1001, "a b c d e f g h i j k l"),
]


def texts() -> Iterator[str]:
    yield from (document["text"] for document in documents(DOCUMENTS, seed=4))
    dice = random.Random(4)
    for _ in range(BROKEN):
        glue = dice.choice(["", " ", " ", "\n"])
        count = int(dice.expovariate(1 / 25)) + 1
        yield glue.join(dice.choice(PIECES[: dice.randint(2, len(PIECES))]) for _ in range(count))


def ours(name: str) -> TextFilter:
    """Our rule of the name that theirs goes by, with the same limits."""
    kind, _, n = name.partition(" ")
    if kind == "SubstringFilter":
        return curator_text.SubstringFilter("the ", "any")
    made: Any = getattr(curator_text, kind)
    if kind == "RepeatingTopNGramsFilter":
        return made(int(n), {2: 0.2, 3: 0.18, 4: 0.16}[int(n)])
    return made(int(n), 0.2 - int(n) / 100) if n else made()


def theirs(given: list[str]) -> list[dict[str, Any]]:
    python = peer_python("nemo-rules", *REQUIREMENTS)
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "in.jsonl"), Path(folder, "out.jsonl")
        source.write_text("".join(json.dumps({"text": text}) + "\n" for text in given))
        script = str(HERE / "peers" / "nemo_rules.py")
        subprocess.run([python, script, str(source), str(target)], check=True)
        return [json.loads(line) for line in target.read_text().splitlines()]


def difference(rule: TextFilter, text: str, said: dict[str, Any]) -> str | None:
    """In a word how the outcomes differ; None where they are the same, to the last digit."""
    if "error" in said:
        return "theirs fails" if text.strip() or rule.passes(text) else "blank"
    if not text.strip():
        return "blank" if not rule.passes(text) else "blank, but passes"
    score = float(rule.score(DocumentText(text)))
    if "among" in said and score != said["score"]:
        return "tie" if score in said["among"] else f"{score} is none of {said['among']}"
    same = score == said["score"] and rule.keeps(score) == said["keeps"]
    return None if same else f"{score} instead of {said['score']}"


EXPECTED = {
    "tie": "several n-grams are the commonest: theirs takes any of them, ours the first",
    "blank": "blank texts pass none of our rules; theirs fails, or keeps some of them",
}


def main() -> int:
    given = list(dict.fromkeys([*texts(), "", " ", "\n\n"]))
    agreed, expected, wrong = 0, Counter[str](), []
    rules: dict[str, TextFilter] = {}
    for text, outcomes in zip(given, theirs(given), strict=True):
        for name, said in outcomes.items():
            rule = rules.setdefault(name, ours(name))
            found = difference(rule, text, said)
            if found is None:
                agreed += 1
            elif found in EXPECTED:
                expected[found] += 1
            else:
                wrong.append(f"{name}: {found}: {text[:200]!r}")
    print(f"{len(given)} texts, {len(rules)} rules: {agreed} scores and decisions are the same")
    for kind, count in expected.items():
        print(f"{count} differ on purpose: {EXPECTED[kind]}")
    print("\n".join([f"{len(wrong)} differ", *wrong[:20]]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
