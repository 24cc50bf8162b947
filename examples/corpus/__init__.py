"""A small raw web corpus, made up: good pages among everything else that a crawl brings."""

from corpus.making import BLOCKED, SHARES, documents, make

__all__ = ["BLOCKED", "SHARES", "documents", "make"]
