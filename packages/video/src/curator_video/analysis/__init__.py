"""Frame analysis: what stages need from one shared decode, and what it finds."""
