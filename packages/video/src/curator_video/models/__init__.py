"""Image models for pictures of clips."""
