"""Statistics of data: mergeable, so that what many workers saw adds up to one exact account."""

from curator_core.statistics.distributions import Distribution
from curator_core.statistics.summaries import FILE_ENDING, ColumnSummary, Summary, read_summary
from curator_core.statistics.values import ValueCounts

__all__ = [
    "FILE_ENDING",
    "ColumnSummary",
    "Distribution",
    "Summary",
    "ValueCounts",
    "read_summary",
]
