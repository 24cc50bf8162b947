"""The built-in commands of `curate`, one module each."""
