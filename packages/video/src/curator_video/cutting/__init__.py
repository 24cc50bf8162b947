"""Cutting: clips become files of their own."""
