"""What core itself offers, through the same hooks as everybody."""

from curator_core.hookspecs import hookimpl


@hookimpl
def curator_stages() -> dict[str, str]:
    return {
        "core.exchange_reader": "curator_core.exchanges:ExchangeReader",
        "core.exchange_writer": "curator_core.exchanges:ExchangeWriter",
        "core.file_partitioning": "curator_core.partitioning:FilePartitioning",
        "core.jsonl_reader": "curator_core.reading:JsonlReader",
        "core.jsonl_writer": "curator_core.writing:JsonlWriter",
        "core.parquet_reader": "curator_core.reading:ParquetReader",
        "core.parquet_writer": "curator_core.writing:ParquetWriter",
    }


@hookimpl
def curator_executors() -> dict[str, str]:
    return {"core.local": "curator_core.local.executor:LocalExecutor"}
