"""The command `curate`."""

from curator_core.cli.calling import main

__all__ = ["main"]
