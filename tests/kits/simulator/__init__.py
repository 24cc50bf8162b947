"""A simulated cluster that drives the real scheduler: events in a heap, seconds instead of days."""
