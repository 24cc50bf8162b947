"""Writers of WebDataset shards and folders of image files; curator-core writes Parquet."""
