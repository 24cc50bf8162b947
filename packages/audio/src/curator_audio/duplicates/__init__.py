"""Duplicates among recordings: equal samples, and sounds that only were encoded differently."""
