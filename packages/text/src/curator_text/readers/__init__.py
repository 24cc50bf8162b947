"""Readers for published text formats: WARC, WET, Wikipedia, arXiv, CSV, plain text."""
