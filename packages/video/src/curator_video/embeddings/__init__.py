"""Embeddings: turn clips into vectors, so that similar clips have similar vectors."""
