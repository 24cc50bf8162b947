"""Video stages for Curator will live here; there are none yet."""
