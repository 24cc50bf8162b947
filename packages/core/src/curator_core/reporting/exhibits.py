"""Exhibits: sections that packages add to the report, such as pictures or sounds."""

import re
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import escape

from curator_core.errors import InputError
from curator_core.plugins.registry import Plugins
from curator_core.plugins.registry import plugins as installed_plugins
from curator_core.reporting.directories import RunRecord
from curator_core.reporting.figures import shortened
from curator_core.reporting.fragments import section

_LEAST_ROOM = 20_000


@dataclass(frozen=True)
class Exhibit:
    """A section of the report: self-contained HTML, and styles that apply only inside of it."""

    title: str
    html: str
    style: str = ""

    @property
    def size(self) -> int:
        return len(self.html.encode("utf-8", "replace")) + len(self.style)


@dataclass(frozen=True)
class Shown:
    """All exhibits of a report, as HTML and styles."""

    html: str = ""
    style: str = ""


def fitting(kinds: Iterable[tuple[str, str]], room: int) -> str:
    """Return titles and the HTML below them, as many as fit into `room` characters."""
    html = ""
    for title, shown in kinds:
        part = f"<h3>{escape(title)}</h3>{shown}"
        if len(html) + len(part) > room:
            break
        html += part
    return html


def where_more_is(run: RunRecord, command: str) -> str:
    """Return a paragraph with the command that writes a separate page about the run."""
    typed = f"curate {command} {shlex.quote(run.path)}"
    return f"<p>More of them, with scores: <code>{escape(typed)}</code>.</p>"


def shown_exhibits(record: RunRecord, room: int, plugins: Plugins | None = None) -> Shown:
    """Return the sections of packages with stages in the run, in `room` bytes at most."""
    html, style = "", ""
    for name, exhibit in _exhibits(record, room, plugins or installed_plugins()):
        kind = f"of-{name.replace('.', '-')}"
        inside = f'<div class="{kind}">{exhibit.html}</div>'
        html += section(escape(exhibit.title), inside)
        style += f".{kind} {{ {exhibit.style} }}\n" if exhibit.style else ""
    return Shown(html, style)


def _exhibits(record: RunRecord, room: int, found: Plugins) -> Iterator[tuple[str, Exhibit]]:
    stages = record.facts.get("plan", [])
    present = {_package(str(stage.get("stage", ""))) for stage in stages}
    for name in found.reports:
        if _package(found.reports[name].place) not in present or room < _LEAST_ROOM:
            continue
        exhibit = _made(name, record, room, found)
        if exhibit is not None and exhibit.html:
            room -= exhibit.size
            yield name, exhibit


def _package(place: str) -> str:
    return re.split("[.:]", place, maxsplit=1)[0]


def _made(name: str, record: RunRecord, room: int, found: Plugins) -> Exhibit | None:
    """Return one package's section; if it fails, a note takes its place."""
    try:
        exhibit: Exhibit | None = found.reports.load(name)(record, room)
    except InputError:  # the run has no data for this section
        return None
    except Exception as error:  # noqa: BLE001 - a package's own code
        told = shortened(f"{type(error).__name__}: {error}", 300)
        return Exhibit(name, f"<p>This could not be shown: {escape(told)}</p>")
    if exhibit is not None and exhibit.size > room:
        return Exhibit(exhibit.title, "<p>There is no room left for it on this page.</p>")
    return exhibit
