"""Downloading: files from the web, whole, checked, and from public addresses only."""
