"""Compiled: the work on each character and each edge as machine code. Needs the extra `fast`."""
