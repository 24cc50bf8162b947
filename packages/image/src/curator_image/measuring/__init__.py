"""Measures of pictures, and filters based on them."""
