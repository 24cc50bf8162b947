"""Stages that run a model over texts. Only what runs one imports torch."""
