"""A cluster in a heap of events: the real scheduler, simulated workers, seconds instead of days."""
