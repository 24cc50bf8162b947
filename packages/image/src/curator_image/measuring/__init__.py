"""Measures of pictures, and the filters that decide by them."""
