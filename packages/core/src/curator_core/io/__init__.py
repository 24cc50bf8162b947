"""File input and output: listing, reading, writing, shuffling and downloading."""
