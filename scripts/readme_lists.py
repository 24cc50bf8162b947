"""Write the lists of stages, workflows and options in READMEs.

`hatch run generate` writes them. A list is between two comments, with nothing else:

    <!-- list: stages text -->
    <!-- list: workflows dedup -->
    <!-- list: options curator_streaming.options:StreamingOptions -->
    <!-- end of list -->
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from pathlib import Path

from curator_cli.recipes.help import StageHelp, WorkflowHelp, stage_help, workflow_help
from curator_cli.recipes.options import options_of, with_docs
from curator_core.plugins.registry import plugins

PACKAGES = Path(__file__).parents[1] / "packages"
READMES = sorted(PACKAGES.rglob("README.md"))
LIST = re.compile(r"^(<!-- list: (\w+) (\S+) -->\n)(.*?)^(?=<!-- end of list -->$)", re.M | re.S)
_SENTENCE = re.compile(r"(?<=\.)\s")


def anew(text: str) -> str:
    """A README with every list made anew."""
    return LIST.sub(lambda found: found[1] + "".join(_MAKERS[found[2]](found[3])), text)


def lists_in(text: str) -> set[tuple[str, str]]:
    """What there are lists of: kind and name."""
    return {(found[2], found[3]) for found in LIST.finditer(text)}


def _stages(plugin: str) -> Iterator[str]:
    names = [name for name in plugins().stages if name.partition(".")[0] == plugin]
    found = [stage_help(name) for name in sorted(names)]
    return _told("stage", found)


def _workflows(plugin: str) -> Iterator[str]:
    names = [name for name in plugins().workflows if name.partition(".")[0] == plugin]
    found = [workflow_help(name) for name in sorted(names)]
    return _told("workflow", found)


def _options(place: str) -> Iterator[str]:
    module, _, name = place.partition(":")
    kind = getattr(import_module(module), name)
    options = with_docs(options_of(kind), kind).options.values()
    rows = ((_code(o.name), _default(o.default), " ".join(o.doc.split())) for o in options)
    return _table(("option", "default", "what it does"), rows)


_MAKERS: dict[str, Callable[[str], Iterable[str]]] = {
    "stages": _stages, "workflows": _workflows, "options": _options,
}  # fmt: skip


def _told(kind: str, found: Iterable[StageHelp | WorkflowHelp]) -> Iterator[str]:
    rows = ((_code(one.name), _kind(one.place), _first(one.doc)) for one in found)
    return _table((kind, "class", "what it does"), rows)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |\n"
    yield f"|{'---|' * len(head)}\n"
    for row in rows:
        yield f"| {' | '.join(row)} |\n"


def _first(doc: str) -> str:
    """The first sentence, in one line."""
    return " ".join(_SENTENCE.split(doc.partition("\n\n")[0])[0].split()).replace("|", "\\|")


def _code(name: str) -> str:
    return f"`{name}`"


def _kind(place: str) -> str:
    return _code(place.rpartition(":")[2])


def _default(value: object) -> str:
    return "none" if value in (None, {}) else f"`{value!r}`"


if __name__ == "__main__":
    for readme in READMES:
        before = readme.read_text()
        if (after := anew(before)) != before:
            readme.write_text(after)
            print(readme.relative_to(PACKAGES))
