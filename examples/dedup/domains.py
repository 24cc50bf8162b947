"""How many documents each domain has, and the domains that have most, over all files.

    python examples/dedup/domains.py PAGES OUT

PAGES holds JSON Lines with the field `url`. Each batch is counted where it is read, so what goes
through the exchange is a line for each domain of a batch, and a domain that has half of all
documents weighs no more than any other. Then each partition adds up its domains and keeps its own
largest, of which the largest of all are chosen.
"""

import sys
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pyarrow as pa
from curator_core import (
    DocumentBatch,
    ExchangeReader,
    ExchangeWriter,
    JsonlReader,
    ParquetWriter,
    Pipeline,
    ProcessingStage,
)

PARTITIONS = 16


@dataclass
class DomainCounting(ProcessingStage[DocumentBatch, DocumentBatch]):
    """Counts the documents of each domain in a batch."""

    field: str = "url"

    def columns_after(self, before: frozenset[str] | None) -> frozenset[str]:
        return frozenset(("domain", "documents"))

    def process(self, task: DocumentBatch) -> DocumentBatch:
        urls = task.data.column(self.field).to_pylist()
        domains = pa.table({"domain": [urlsplit(url or "").hostname or "" for url in urls]})
        counted = domains.group_by("domain").aggregate([([], "count_all")])
        return task.with_data(counted.rename_columns(["domain", "documents"]))


@dataclass
class Adding(ProcessingStage[DocumentBatch, DocumentBatch]):
    """Adds up the counts of a partition: it has all there are of each of its domains."""

    def process(self, task: DocumentBatch) -> DocumentBatch:
        added = task.data.group_by("domain").aggregate([("documents", "sum")])
        return task.with_data(added.rename_columns(["domain", "documents"]))


@dataclass
class Largest(ProcessingStage[DocumentBatch, DocumentBatch]):
    """The largest of a partition: no other can be among the largest of all."""

    number: int

    def process(self, task: DocumentBatch) -> DocumentBatch:
        return task.with_data(largest(task.data, self.number))


def largest(table: pa.Table, number: int) -> pa.Table:
    return table.sort_by([("documents", "descending"), ("domain", "ascending")]).slice(0, number)


def count(pages: str, out: str) -> None:
    """Write the number of documents of every domain, once each."""
    exchange = f"{out}/.exchange"
    scatter: list[ProcessingStage] = [  # type: ignore[type-arg]
        JsonlReader(pages, fields=["url"], text_field=None),
        DomainCounting(),
        ExchangeWriter(exchange, key="domain", partitions=PARTITIONS),
    ]
    Pipeline("scatter", stages=scatter).run()
    reader = ExchangeReader(exchange, partitions=PARTITIONS)
    Pipeline("add", stages=[reader, Adding(), ParquetWriter(f"{out}/counts")]).run()


def top(out: str, number: int) -> list[tuple[str, int]]:
    """The domains with most documents. Only so many of each partition come here."""
    reader = ExchangeReader(f"{out}/.exchange", partitions=PARTITIONS)
    tasks = Pipeline("top", stages=[reader, Adding(), Largest(number)]).run()
    table = largest(pa.concat_tables([task.data for task in tasks]), number)
    return [(row["domain"], row["documents"]) for row in table.to_pylist()]


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    pages, out = sys.argv[1:]
    Path(out).mkdir(parents=True, exist_ok=True)
    count(pages, out)
    for domain, documents in top(out, 10):
        print(f"{documents:8,} {domain}")


if __name__ == "__main__":
    main()
