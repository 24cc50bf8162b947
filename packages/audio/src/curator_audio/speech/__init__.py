"""Speech: find it, and make segments of it."""
