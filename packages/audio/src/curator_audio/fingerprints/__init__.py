"""Fingerprints: bits that survive encoding, resampling, and changes of volume."""
