"""Voice activity detection: find the spans of speech in recordings."""
