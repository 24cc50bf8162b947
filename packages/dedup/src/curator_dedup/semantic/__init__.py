"""Semantic duplicates: documents, images or clips whose embeddings are nearly parallel."""
