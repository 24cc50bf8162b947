"""A small raw web corpus, made up: good pages among everything else that a crawl brings."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from corpus.making import BLOCKED, SHARES, documents, make

__all__ = ["BLOCKED", "SHARES", "documents", "make"]


def __getattr__(name: str) -> Any:
    """Imported when asked for, or `python -m corpus.making` would warn that it is there already."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from corpus import making

    return getattr(making, name)
