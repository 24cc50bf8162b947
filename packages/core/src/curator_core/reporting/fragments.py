"""Building blocks of our pages: HTML without scripts that needs no network."""

from collections.abc import Iterable, Sequence
from html import escape

from curator_core.model.secrets import redact
from curator_core.reporting.styling import STYLE

_MANY = 6
"""More columns than fit on a phone: there the first column is limited in width."""


def page(title: str, body: str, style: str = "") -> str:
    """Return a whole page. The body must be HTML; secrets in it are masked."""
    head = (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>{escape(title)}</title>"
        '<meta name="viewport" content="width=device-width">'
        f"<style>{STYLE}{style}</style></head>\n"
    )
    return redact(f"{head}<body>{body}</body></html>\n")


def section(title: str, content: str) -> str:
    """Return a section, or nothing if it is empty."""
    return f"<h2>{title}</h2>{content}\n" if content else ""


def figures_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; cells must be HTML, and all columns after the first are numbers."""
    cells = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{c}</td>" for c in row) + "</tr>" for row in rows)
    kind = "figures wide" if len(head) > _MANY else "figures"
    return f'<table class="{kind}"><tr>{cells}</tr>{body}</table>' if body else ""


def facts_table(rows: Iterable[tuple[str, str]]) -> str:
    """Return a table of names and values, which are plain text."""
    lines = "".join(f"<tr><th>{escape(a)}</th><td>{escape(b)}</td></tr>" for a, b in rows)
    return f"<table>{lines}</table>" if lines else ""
