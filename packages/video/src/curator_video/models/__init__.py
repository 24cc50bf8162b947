"""Models that look at pictures of clips."""
