"""Shards: tar files in which the members with one key make a sample."""
