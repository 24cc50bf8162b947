"""Reporting: pages that show the clips of a run."""
