"""The index of stages and workflows: what each does and needs, read without importing any of them.

`hatch run generate` writes `index.json` for the packages of this project. Stages of other plugins
are described by loading them, see `curator_cli.stage_index`.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from curator_core.plugins.groups import Group, group_of

FILE = Path(__file__).with_name("index.json")


@dataclass(frozen=True)
class Description:
    """What a stage or workflow does, and what it needs."""

    name: str
    kind: str
    """"stage" or "workflow"."""

    place: str
    summary: str
    options: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    adds: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()
    """What to install besides its package, as pip requirements."""

    @property
    def group(self) -> Group:
        return group_of(self.name)

    @property
    def plugin(self) -> str:
        return self.name.partition(".")[0]

    @property
    def distribution(self) -> str:
        """The package that it is in. Only for packages of this project."""
        return f"curator-{self.plugin}"

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@cache
def packaged_index() -> Mapping[str, Description]:
    """Return the stages and workflows of this project's packages, installed or not."""
    entries = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else []
    found = [Description(**{key: _frozen(value) for key, value in e.items()}) for e in entries]
    return {description.name: description for description in found}


def find_description(name: str, place: str) -> Description | None:
    """Return the description of an installed stage or workflow, unless it is another one's."""
    found = packaged_index().get(name)
    return found if found is not None and found.place == place else None


def index_text(descriptions: Mapping[str, Description]) -> str:
    """Return the text of `index.json`: one entry per line, so that changes are easy to read."""
    rows = [json.dumps(descriptions[name].to_json(), ensure_ascii=False) for name in descriptions]
    return "[\n" + ",\n".join(rows) + "\n]\n"


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
