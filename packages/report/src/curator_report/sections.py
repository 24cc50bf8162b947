"""Sections that packages add to the report, such as pictures or sounds."""

import re
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from curator_core.errors import InputError
from curator_core.model.formatting import shortened
from curator_core.plugins.registry import Plugins
from curator_core.plugins.registry import plugins as installed_plugins

from curator_report.html import SafeHtml, render_part
from curator_report.run_record import RunRecord

_LEAST_ROOM = 20_000


@dataclass(frozen=True)
class ReportSection:
    """A section of the report: self-contained HTML, and styles that apply only inside of it."""

    title: str
    html: str
    style: str = ""

    @property
    def size(self) -> int:
        return len(self.html.encode("utf-8", "replace")) + len(self.style)


@dataclass(frozen=True)
class PlacedSection(ReportSection):
    """A section on the page, inside of an element of its own class."""

    css_class: str = ""


def select_fitting(kinds: Iterable[tuple[str, str]], room: int) -> str:
    """Return titles and the HTML below them, as many as fit into `room` characters."""
    html = ""
    for title, shown in kinds:
        part = render_part("parts", "titled", title, SafeHtml(shown))
        if len(html) + len(part) > room:
            break
        html += part
    return html


def link_to_command(run: RunRecord, command: str) -> str:
    """Return a paragraph with the command that writes a separate page about the run."""
    return render_part("parts", "more_with", f"curate {command} {shlex.quote(run.path)}")


def render_sections(
    record: RunRecord, room: int, plugins: Plugins | None = None
) -> list[PlacedSection]:
    """Return the sections of packages with stages in the run, in `room` bytes at most."""
    return [
        PlacedSection(made.title, made.html, made.style, f"of-{name.replace('.', '-')}")
        for name, made in _sections(record, room, plugins or installed_plugins())
    ]


def _sections(record: RunRecord, room: int, found: Plugins) -> Iterator[tuple[str, ReportSection]]:
    stages = record.facts.get("plan", [])
    present = {_package(str(stage.get("stage", ""))) for stage in stages}
    for name in found.report_sections:
        if _package(found.report_sections[name].place) not in present or room < _LEAST_ROOM:
            continue
        made = _made(name, record, room, found)
        if made is not None and made.html:
            room -= made.size
            yield name, made


def _package(place: str) -> str:
    return re.split("[.:]", place, maxsplit=1)[0]


def _made(name: str, record: RunRecord, room: int, found: Plugins) -> ReportSection | None:
    """Return one package's section; if it fails, a note takes its place."""
    try:
        made: ReportSection | None = found.report_sections.load(name)(record, room)
    except InputError:  # the run has no data for this section
        return None
    except Exception as error:  # noqa: BLE001 - a package's own code
        cause = shortened(f"{type(error).__name__}: {error}", 300)
        return ReportSection(name, _note(f"This could not be shown: {cause}"))
    if made is not None and made.size > room:
        return ReportSection(made.title, _note("Left out, because the page would be too large."))
    return made


def _note(text: str) -> str:
    return render_part("parts", "note", text)
