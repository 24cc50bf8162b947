"""Reporting: what a run made of its videos, as a page to look at."""
