"""Counts from the metadata of a folder's Parquet files, added up."""

import json
from collections import Counter

from curator_core.errors import NothingFoundError
from curator_core.io.filesystems import StorageOptions, open_input
from curator_core.io.listing import Wanted, find_files

COUNTS = b"curator_dedup"
"""Metadata key of the counts in a Parquet file."""


def counts_in(folder: str, storage_options: StorageOptions | None = None) -> Counter[str]:
    import pyarrow.parquet as pq

    total: Counter[str] = Counter()
    try:
        files = list(find_files([folder], Wanted((".parquet",)), storage_options))
    except NothingFoundError:
        return total
    for file in files:
        with open_input(file.path, storage_options) as source:
            told = pq.read_schema(source).metadata[COUNTS]
        total.update(json.loads(told))
    return total
