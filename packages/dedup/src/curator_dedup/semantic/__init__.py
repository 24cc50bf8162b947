"""Semantic duplicates: documents, images or clips whose embeddings have nearly the same
direction."""
