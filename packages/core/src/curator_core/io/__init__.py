"""Files: listing, reading, writing, shuffling and downloading them."""
