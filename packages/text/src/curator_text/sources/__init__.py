"""Sources: what the world keeps text in, read into batches of documents."""
