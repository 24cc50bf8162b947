"""`StreamingExecutor` will live here: all stages at once, on different tasks. Not yet."""
