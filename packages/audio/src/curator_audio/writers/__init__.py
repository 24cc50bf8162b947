"""Writers: manifests, audio files and shards."""
