"""Deduplication on ordinary CPUs, at any size, on any executor."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from curator_dedup.blooms.stages import BloomDeduplication
    from curator_dedup.exact.workflows import ExactDeduplicationWorkflow
    from curator_dedup.fuzzy.workflows import FuzzyDeduplicationWorkflow
    from curator_dedup.passages.workflows import (
        LineDeduplicationWorkflow,
        SentenceDeduplicationWorkflow,
        SubstringDeduplicationWorkflow,
    )
    from curator_dedup.semantic.workflows import SemanticDeduplicationWorkflow

__all__ = [
    "BloomDeduplication",
    "ExactDeduplicationWorkflow",
    "FuzzyDeduplicationWorkflow",
    "LineDeduplicationWorkflow",
    "SemanticDeduplicationWorkflow",
    "SentenceDeduplicationWorkflow",
    "SubstringDeduplicationWorkflow",
]

_WHEN_ASKED_FOR = {
    "BloomDeduplication": "curator_dedup.blooms.stages",
    "ExactDeduplicationWorkflow": "curator_dedup.exact.workflows",
    "FuzzyDeduplicationWorkflow": "curator_dedup.fuzzy.workflows",
    "LineDeduplicationWorkflow": "curator_dedup.passages.workflows",
    "SemanticDeduplicationWorkflow": "curator_dedup.semantic.workflows",
    "SentenceDeduplicationWorkflow": "curator_dedup.passages.workflows",
    "SubstringDeduplicationWorkflow": "curator_dedup.passages.workflows",
}


def __getattr__(name: str) -> Any:
    """Import on first use: numpy and pyarrow are slow to import."""
    if name not in _WHEN_ASKED_FOR:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_WHEN_ASKED_FOR[name]), name)
