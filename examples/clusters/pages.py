"""Clean web pages on a cluster, with a stage of your own.

ray job submit --address http://HEAD:8265 --working-dir examples/clusters -- \
    python pages.py '/data/raw/*.jsonl*' /data/clean
"""

import sys

import pyarrow.compute as pc
from curator_core import DocumentBatch, Pipeline, processing_stage
from curator_streaming import StreamingExecutor
from curator_text import JsonlReader, JsonlWriter, WordCountFilter


@processing_stage(name="count_characters")
def count_characters(task: DocumentBatch) -> DocumentBatch:
    """Add a column with the length of each text."""
    return task.with_data(task.data.append_column("characters", pc.utf8_length(task.data["text"])))


def main(raw: str, clean: str) -> None:
    stages = [
        JsonlReader(raw, blocksize="128MB"),
        WordCountFilter(min_words=50),
        count_characters,
        JsonlWriter(clean),
    ]
    print(Pipeline("pages", stages=stages).run(StreamingExecutor()))


if __name__ == "__main__":
    main(*sys.argv[1:])
