"""The engine: carries out what the scheduler decides, with Ray actors as workers."""
