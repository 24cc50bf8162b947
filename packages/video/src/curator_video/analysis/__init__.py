"""One decode, many uses: what stages ask of it, and what it finds."""
