"""Reports about runs of recordings."""
