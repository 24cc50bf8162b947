"""Deduplication: equal files, equal pixels, or perceptual hashes within a few bits."""
