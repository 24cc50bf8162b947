"""Compiled: the work on each character as machine code. Needs the extra `fast`."""
