"""Semantic duplicates: documents, pictures or clips whose embeddings point nearly the same way."""
