"""Runs on clusters that only Ray's client (ray://) reaches."""
