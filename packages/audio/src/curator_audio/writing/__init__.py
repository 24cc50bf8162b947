"""Writers: manifests, and recordings with them."""
