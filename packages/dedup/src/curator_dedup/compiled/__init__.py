"""Compiled kernels: per-character work as machine code. Needs the extra `fast`."""
