"""Find and remove benchmark text in a corpus."""
