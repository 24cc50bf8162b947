"""Writing: clips and what is known of them, in the layout that users of NeMo Curator know."""
