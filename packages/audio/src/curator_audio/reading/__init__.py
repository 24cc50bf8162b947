"""Readers: manifests, folders and archives of recordings become batches."""
