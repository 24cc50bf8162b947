"""Fingerprints: what stays of a recording when it is encoded again, resampled, or made louder."""
