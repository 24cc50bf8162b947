"""Download complete, verified files from the web, from public addresses only."""
