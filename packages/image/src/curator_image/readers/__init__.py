"""Readers of WebDataset shards, folders of image files, and Parquet."""
