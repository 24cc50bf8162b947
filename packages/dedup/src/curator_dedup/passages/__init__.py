"""Repeated passages: lines, sentences, and stretches of words that stand in a corpus many times."""
