"""Repeated passages: lines, sentences and runs of words that occur many times in a corpus."""
