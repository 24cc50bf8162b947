"""Runs: what an execution of a plan remembers, publishes and counts."""
