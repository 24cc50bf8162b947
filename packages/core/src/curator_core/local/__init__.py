"""Running on one machine, without Ray: in this process, or in one process per core."""
