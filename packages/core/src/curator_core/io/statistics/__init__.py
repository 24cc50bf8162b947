"""Statistics of data, mergeable so that the counts of many workers add up exactly."""

from curator_core.io.statistics.distributions import Distribution
from curator_core.io.statistics.summaries import FILE_ENDING, ColumnSummary, Summary, read_summary
from curator_core.io.statistics.values import ValueCounts

__all__ = [
    "FILE_ENDING",
    "ColumnSummary",
    "Distribution",
    "Summary",
    "ValueCounts",
    "read_summary",
]
