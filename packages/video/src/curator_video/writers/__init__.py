"""Writers: store clips and their metadata in the layout of NeMo Curator."""
