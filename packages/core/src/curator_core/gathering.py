"""Gathering: all records of a run in one table."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from curator_core.documents import DocumentBatch
from curator_core.errors import PipelineError
from curator_core.files import FileGroup

if TYPE_CHECKING:
    import pyarrow as pa

    from curator_core.results import RunResult


def gathered(result: "RunResult") -> "pa.Table":
    """Of its tasks where these hold records, else of the files that it wrote."""
    batches = [task for task in result.tasks if isinstance(task, DocumentBatch)]
    if len(batches) == len(result.tasks) and batches:
        return _together(batches)
    others = {type(task).__name__ for task in result.tasks if not isinstance(task, FileGroup)}
    if others:
        raise PipelineError(
            f"the run gave {', '.join(sorted(others))}, which are no records; take its tasks one "
            "by one: [task.data for task in result]"
        )
    return _together(_read(result.files))


def _together(batches: Sequence[DocumentBatch]) -> "pa.Table":
    import pyarrow as pa

    if not batches:
        return pa.table({})
    tables = [batch.data for batch in batches]
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise PipelineError(
            f"the tables of this run do not go together ({error}); take its tasks, or its files, "
            "one by one"
        ) from error


def _read(files: Sequence[str]) -> list[DocumentBatch]:
    from curator_core.local.executor import LocalExecutor
    from curator_core.pipelines import Pipeline
    from curator_core.progress import Manner, manner
    from curator_core.reading import JsonlReader, ParquetReader

    found: list[DocumentBatch] = []
    for reader, ending in ((ParquetReader, ".parquet"), (JsonlReader, ".jsonl")):
        mine = [file for file in files if ending in file.rpartition("/")[2]]
        if mine:
            stages = [reader(file_paths=mine)]
            with manner(Manner(shown=False)):
                run = Pipeline("gathering", stages=stages, on_error="fail").run(
                    LocalExecutor(workers=0)
                )
            found += [task for task in run if isinstance(task, DocumentBatch)]
    if files and not found:
        raise PipelineError(
            f"the run wrote {len(files)} files, and none of them ends in .parquet or .jsonl; "
            "read them with what they were written for"
        )
    return found
