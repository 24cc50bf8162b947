"""Near-duplicates by hashes that may differ in a few bits, for any rows with an id."""
