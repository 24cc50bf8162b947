"""Shards: tar files in which members with the same key form a sample."""
