"""Raw source files, made up: code worth keeping among what else lies in repositories.

python -m corpus.sources demo/code/raw.jsonl     from the folder examples
"""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from corpus.drawing import Dice, English

SOURCE_SHARES = {
    "good source": 50,
    "no comments": 8,
    "only comments": 6,
    "does not parse": 6,
    "too short": 8,
    "table of numbers": 6,
    "XML by another name": 6,
    "somebody's data": 10,
}
"""How many of a hundred files are of each kind. The field `planted` names it."""


class Sources:
    """Writes Python files of any kind."""

    def __init__(self, dice: Dice) -> None:
        self._dice = dice
        self._english = English(dice)

    def write(self, kind: str) -> str:
        return _WRITERS[kind](self)

    def good(self) -> str:
        return "\n\n".join([f'"""{self._sentence()}"""', *self._functions(with_comments=True)])

    def uncommented(self) -> str:
        return "\n\n".join(self._functions(with_comments=False))

    def commented_only(self) -> str:
        return "\n".join(f"# {self._sentence()}" for _ in range(self._dice.between(20, 40)))

    def broken(self) -> str:
        return f"{self.good()}\n\ndef {self._name()}(:\n    return\n"

    def short(self) -> str:
        return f"# {self._sentence()}\nimport {self._english.noun()}\n"

    def table(self) -> str:
        rows = [
            f"    [{', '.join(str(self._dice.below(10**6)) for _ in range(8))}],"
            for _ in range(self._dice.between(30, 60))
        ]
        return "\n".join([f"# {self._sentence()}", f"{self._name()} = [", *rows, "]\n"])

    def xml(self) -> str:
        items = [f"  <item>{self._sentence()}</item>" for _ in range(20)]
        return "\n".join(['<?xml version="1.0"?>', "<items>", *items, "</items>"])

    def personal(self) -> str:
        number = f"10.20.30.{self._dice.below(256)}"
        address = f"{self._english.noun()}@{self._english.noun()}.example"
        return f"# Written by {address}, who runs it on {number}.\n{self.good()}"

    def _functions(self, with_comments: bool) -> list[str]:
        return [self._function(with_comments) for _ in range(self._dice.between(4, 9))]

    def _function(self, with_comments: bool) -> str:
        first, second, third = self._name(), self._name(), self._name()
        lines = [f"def {first}_{second}({third}_items):"]
        if with_comments:
            lines += [f'    """{self._sentence()}"""']
        lines += [f"    {second}_total = 0", f"    for {first}_item in {third}_items:"]
        if with_comments:
            lines += [f"        # {self._sentence()}"]
        lines += [f"        {second}_total += {first}_item.{third}", f"    return {second}_total\n"]
        return "\n".join(lines)

    def _name(self) -> str:
        return self._english.noun()

    def _sentence(self) -> str:
        return self._english.sentence()


_WRITERS: dict[str, Callable[[Sources], str]] = {
    "good source": Sources.good,
    "no comments": Sources.uncommented,
    "only comments": Sources.commented_only,
    "does not parse": Sources.broken,
    "too short": Sources.short,
    "table of numbers": Sources.table,
    "XML by another name": Sources.xml,
    "somebody's data": Sources.personal,
}


def source_files(number: int, seed: int = 1) -> Iterator[dict[str, str]]:
    """Files of code, the same ones for the same arguments on every machine."""
    dice = Dice(f"sources/{seed}")
    sources = Sources(dice)
    lots = [kind for kind, share in SOURCE_SHARES.items() for _ in range(share)]
    for index in range(number):
        kind = dice.one_of(lots)
        path = f"project-{index % 17}/module_{index}.py"
        yield {"path": path, "language": "Python", "text": sources.write(kind), "planted": kind}


def make_sources(path: Path, total: int = 2000) -> None:
    """Write them as JSON lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (json.dumps(one, ensure_ascii=False) for one in source_files(total))
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    make_sources(Path(sys.argv[1]))
