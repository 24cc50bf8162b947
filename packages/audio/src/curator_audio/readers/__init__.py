"""Readers: turn manifests, folders and archives of recordings into batches."""
