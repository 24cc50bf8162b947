"""The entry point `dedup`: what recipes and other packages can name."""

from curator_core import hookimpl


@hookimpl
def curator_stages() -> dict[str, str]:
    return {"dedup.bloom_deduplication": "curator_dedup.bloom:BloomDeduplication"}


@hookimpl
def curator_workflows() -> dict[str, str]:
    return {
        "dedup.exact": "curator_dedup.exact:ExactDeduplicationWorkflow",
        "dedup.fuzzy": "curator_dedup.fuzzy.workflow:FuzzyDeduplicationWorkflow",
        "dedup.lines": "curator_dedup.passages.workflow:LineDeduplicationWorkflow",
        "dedup.semantic": "curator_dedup.semantic.workflow:SemanticDeduplicationWorkflow",
        "dedup.sentences": "curator_dedup.passages.workflow:SentenceDeduplicationWorkflow",
        "dedup.substring": "curator_dedup.passages.workflow:SubstringDeduplicationWorkflow",
    }
