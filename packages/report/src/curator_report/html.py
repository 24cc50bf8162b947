"""HTML from templates: whole pages, and the parts that pages of several packages share.

Templates escape all values. Known secrets are masked in each value before it is escaped, and
once more in the whole page.
"""

from collections.abc import Iterable, Sequence
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any

from curator_core.model.formatting import count, counted, duration, share
from curator_core.model.secrets import redact

if TYPE_CHECKING:
    from jinja2 import Environment


class SafeHtml(str):
    """HTML that templates insert as it is."""

    __slots__ = ()

    def __html__(self) -> str:
        return str(self)


def page(title: str, body: str, style: str = "") -> str:
    """Return a whole page. The body must be HTML."""
    return render_page("page", title=title, body=SafeHtml(body), style=SafeHtml(style))


def section(title: str, content: str) -> str:
    """Return a section, or nothing if it is empty. The title must be HTML, too."""
    return render_part("parts", "section", SafeHtml(title), SafeHtml(content)) if content else ""


def figures_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; cells must be HTML, and all columns after the first are numbers."""
    cells = [[SafeHtml(cell) for cell in row] for row in rows]
    return render_part("parts", "figures_table", head, cells)


def facts_table(rows: Iterable[tuple[str, str]]) -> str:
    """Return a table of names and values, which are plain text."""
    return render_part("parts", "facts_table", list(rows))


def render_page(template: str, **values: Any) -> str:
    """Render a page from the template `<template>.html.j2`."""
    return redact(_environment().get_template(f"{template}.html.j2").render(values))


def render_part(template: str, macro: str, *values: Any) -> str:
    """Render a part of a page with a macro of a template."""
    module = _environment().get_template(f"{template}.html.j2").module
    return str(getattr(module, macro)(*values))


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("curator_report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_redacted,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["breakable"] = breakable
    environment.globals |= {
        "count": count, "counted": counted, "duration": duration, "share": share,
    }  # fmt: skip
    return environment


def breakable(name: Any) -> SafeHtml:
    """Escape a name, and let browsers break lines after its underscores instead of in words."""
    if hasattr(name, "__html__"):
        return SafeHtml(name)
    return SafeHtml(escape(redact(str(name))).replace("_", "_<wbr>"))


def _redacted(value: Any) -> Any:
    """Mask secrets in plain text: once escaped, one with quotes would not be recognized."""
    return redact(value) if isinstance(value, str) and not hasattr(value, "__html__") else value
