"""Statistics of a corpus: lengths, languages, scores."""
