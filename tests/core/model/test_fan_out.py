"""Whether a stage may turn one task into several."""

import gzip
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import pytest
from curator_core import (
    AnyStage,
    DocumentBatch,
    Dropped,
    FileGroup,
    JsonlReader,
    Pipeline,
    ProcessingStage,
    Rejected,
    Task,
    processing_stage,
)
from curator_core.model.stages import may_fan_out

Docs = DocumentBatch
DocStage = ProcessingStage[DocumentBatch, DocumentBatch]
Outcomes: TypeAlias = list[DocumentBatch | Dropped | Rejected]


class One(DocStage):
    def process(self, task: Docs) -> Docs | None:
        return task


class Silent(DocStage):
    def process(self, task):  # type: ignore[no-untyped-def]
        return [task]


class Yields(DocStage):
    def process(self, task: Docs) -> Iterator[Docs | Dropped]:
        yield task


class Lists(DocStage):
    def process(self, task: Docs) -> list[Docs]:
        return [task]


class MayList(DocStage):
    def process(self, task: Docs) -> list[Docs] | None:
        return [task]


class Filters(DocStage):
    def process(self, task: Docs) -> list[Docs | Dropped]:
        return [task]


class FiltersInShort(DocStage):
    def process(self, task: Docs) -> Outcomes:
        return [task]


class FiltersInText(DocStage):
    def process(self, task: Docs) -> "list[Unknown | Dropped]":  # type: ignore[name-defined] # noqa: F821
        return [task]


class ListsInText(DocStage):
    def process(self, task: Docs) -> "list[Unknown]":  # type: ignore[name-defined] # noqa: F821
        return [task]


class Reads(ProcessingStage[FileGroup, DocumentBatch]):
    def process(self, task: FileGroup) -> Iterable[Docs | Rejected]:
        return []


class Batches(DocStage):
    def process_batch(self, tasks: Sequence[Docs]) -> list[Docs]:
        return list(tasks)


class BatchesOfLists(DocStage):
    def process_batch(self, tasks: Sequence[Docs]) -> list[list[Docs]]:
        return [[task] for task in tasks]


class SaysYes(One):
    fans_out = True


class SaysNo(Yields):
    fans_out = False


@processing_stage(name="function")
def function(task: Task[Any]) -> Iterator[Task[Any]]:
    yield task


@pytest.mark.parametrize(
    ("stage", "expected"),
    [
        (One(), False),
        (Silent(), False),
        (Yields(), True),
        (Lists(), True),
        (MayList(), True),
        (Filters(), False),
        (FiltersInShort(), False),
        (FiltersInText(), False),
        (ListsInText(), True),
        (Reads(), True),
        (Batches(), False),
        (BatchesOfLists(), True),
        (SaysYes(), True),
        (SaysNo(), False),
        (function, True),
    ],
    ids=lambda value: getattr(value, "name", str(value)),
)
def test_fan_out_is_derived_from_the_code_unless_the_stage_says_it(
    stage: AnyStage, expected: bool
) -> None:
    assert may_fan_out(stage) is expected


def test_a_plan_knows(tmp_path: Any) -> None:
    (tmp_path / "a.jsonl").write_text("{}\n")
    plan = Pipeline("p", stages=[JsonlReader(str(tmp_path)), Filters()]).build()
    assert [planned.fans_out for planned in plan.stages] == [True, False, False]


@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [
        ("a.jsonl", {}, False),
        ("a.jsonl", {"blocksize": "1MB"}, False),
        ("a.jsonl", {"blocksize": "1GB"}, True),
        ("a.jsonl", {"files_per_partition": 2}, True),
        ("a.jsonl.gz", {}, True),
    ],
)
def test_lines_of_a_small_part_are_one_batch(
    tmp_path: Any, name: str, options: dict[str, Any], expected: bool
) -> None:
    content = b"{}\n"
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    _, reading = JsonlReader(str(tmp_path), **options).decompose()
    assert may_fan_out(reading) is expected


def test_a_reader_of_missing_files_may_fan_out(tmp_path: Any) -> None:
    _, reading = JsonlReader(str(tmp_path / "missing")).decompose()
    assert may_fan_out(reading) is True
