"""What a corpus is like: lengths, languages, scores."""
