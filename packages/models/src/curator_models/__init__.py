"""What stages with models have in common. Importing it wakes neither torch nor transformers."""
