"""Local executor: run on one machine, in this process or in one process per core."""
