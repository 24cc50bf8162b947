# Generated from the package's list of public names: run `hatch run generate`.
from curator_dedup.bloom import BloomDeduplication as BloomDeduplication
from curator_dedup.exact import ExactDeduplicationWorkflow as ExactDeduplicationWorkflow
from curator_dedup.fuzzy.workflow import FuzzyDeduplicationWorkflow as FuzzyDeduplicationWorkflow
from curator_dedup.passages.workflow import LineDeduplicationWorkflow as LineDeduplicationWorkflow
from curator_dedup.passages.workflow import SentenceDeduplicationWorkflow as SentenceDeduplicationWorkflow
from curator_dedup.passages.workflow import SubstringDeduplicationWorkflow as SubstringDeduplicationWorkflow
from curator_dedup.semantic.workflow import SemanticDeduplicationWorkflow as SemanticDeduplicationWorkflow

__all__ = [
    "BloomDeduplication",
    "ExactDeduplicationWorkflow",
    "FuzzyDeduplicationWorkflow",
    "LineDeduplicationWorkflow",
    "SemanticDeduplicationWorkflow",
    "SentenceDeduplicationWorkflow",
    "SubstringDeduplicationWorkflow",
]
