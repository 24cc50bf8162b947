"""The executor that keeps every worker of a Ray cluster busy: `executor.StreamingExecutor`."""
