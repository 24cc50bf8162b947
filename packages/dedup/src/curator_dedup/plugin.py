"""The entry point `dedup`: what recipes and other packages can name."""

from curator_core.plugins.hookspecs import hookimpl


@hookimpl
def curator_stages() -> dict[str, str]:
    return {"dedup.bloom_deduplication": "curator_dedup.blooms.stages:BloomDeduplication"}


@hookimpl
def curator_workflows() -> dict[str, str]:
    return {
        "dedup.exact": "curator_dedup.exact.workflows:ExactDeduplicationWorkflow",
        "dedup.fuzzy": "curator_dedup.fuzzy.workflows:FuzzyDeduplicationWorkflow",
        "dedup.lines": "curator_dedup.passages.workflows:LineDeduplicationWorkflow",
        "dedup.semantic": "curator_dedup.semantic.workflows:SemanticDeduplicationWorkflow",
        "dedup.sentences": "curator_dedup.passages.workflows:SentenceDeduplicationWorkflow",
        "dedup.substring": "curator_dedup.passages.workflows:SubstringDeduplicationWorkflow",
    }
