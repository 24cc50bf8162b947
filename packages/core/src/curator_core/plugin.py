"""The plugin of core itself, registered through the same hooks as every plugin."""

from curator_core.plugins.hookspecs import hookimpl


@hookimpl
def curator_stages() -> dict[str, str]:
    return {
        "core.exchange_reader": "curator_core.io.shuffle:ExchangeReader",
        "core.exchange_writer": "curator_core.io.shuffle:ExchangeWriter",
        "core.file_partitioning": "curator_core.io.partitioning:FilePartitioning",
        "core.jsonl_reader": "curator_core.io.readers:JsonlReader",
        "core.jsonl_writer": "curator_core.io.writers:JsonlWriter",
        "core.parquet_reader": "curator_core.io.readers:ParquetReader",
        "core.parquet_writer": "curator_core.io.writers:ParquetWriter",
    }


@hookimpl
def curator_executors() -> dict[str, str]:
    return {"core.local": "curator_core.local.executor:LocalExecutor"}
