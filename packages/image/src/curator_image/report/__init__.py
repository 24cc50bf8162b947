"""Report pages with pictures: what each rule kept and dropped, and clusters of duplicates."""
