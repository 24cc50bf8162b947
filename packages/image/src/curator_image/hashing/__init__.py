"""Perceptual hashes: bits that barely change when a picture is re-encoded or scaled."""
