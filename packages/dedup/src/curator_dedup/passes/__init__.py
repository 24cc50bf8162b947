"""The passes that all deduplication is made of: list, sign, group, decide, remove."""
