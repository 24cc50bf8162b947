"""Fragments: what every page of ours is made of, HTML without scripts that needs no network."""

from collections.abc import Iterable, Sequence
from html import escape

from curator_core.model.secrets import redact
from curator_core.reporting.styling import STYLE

_MANY = 6
"""More columns than a telephone shows: there the first one leaves room for them."""


def page(title: str, body: str, style: str = "") -> str:
    """A whole page. The body is HTML already; secrets in it are struck out."""
    head = (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>{escape(title)}</title>"
        '<meta name="viewport" content="width=device-width">'
        f"<style>{STYLE}{style}</style></head>\n"
    )
    return redact(f"{head}<body>{body}</body></html>\n")


def section(title: str, content: str) -> str:
    """Nothing, where there is nothing to show."""
    return f"<h2>{title}</h2>{content}\n" if content else ""


def figures_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Cells are HTML already; all columns after the first are numbers."""
    cells = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{c}</td>" for c in row) + "</tr>" for row in rows)
    kind = "figures wide" if len(head) > _MANY else "figures"
    return f'<table class="{kind}"><tr>{cells}</tr>{body}</table>' if body else ""


def facts_table(rows: Iterable[tuple[str, str]]) -> str:
    """Names and values, which are text."""
    lines = "".join(f"<tr><th>{escape(a)}</th><td>{escape(b)}</td></tr>" for a, b in rows)
    return f"<table>{lines}</table>" if lines else ""
