"""Fused filters copy the kept rows once, at the end."""

import pyarrow as pa
from curator_core import DocumentBatch, Pipeline
from curator_core.local.executor import LocalExecutor
from curator_text import WordCountFilter

TEXTS = [f"document {n} " + "word " * n for n in range(1, 1500)]


def test_rows_kept_by_fused_filters_are_copied_once() -> None:
    short, long = (
        WordCountFilter(min_words=5),
        WordCountFilter(min_words=1, max_words=1400).with_(name="long"),
    )
    batch = DocumentBatch(pa.table({"text": TEXTS}))
    executor = LocalExecutor(workers=0)
    before = pa.default_memory_pool().total_bytes_allocated()
    result = Pipeline("row", stages=[short, long]).run(executor, [batch])
    made = pa.default_memory_pool().total_bytes_allocated() - before
    assert [task.num_items for task in result.tasks] == [1396]
    assert made < 1.6 * batch.data.nbytes  # the rest: samples of dropped rows
