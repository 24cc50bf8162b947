"""Fuzzy deduplication from files to files."""

import json
import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from curator_core import (
    BudgetError,
    InputError,
    LocalExecutor,
    PipelineError,
    ResumeError,
    Workflow,
)
from curator_core.plugins.registry import plugins
from curator_dedup import FuzzyDeduplicationWorkflow
from curator_dedup.fuzzy.shingles import Shingling
from curator_dedup.fuzzy.verify import jaccard, shingle_sets

HERE = LocalExecutor(workers=0)
Record = dict[str, Any]
Write = Callable[[Path, list[Record]], Path]
RecordsIn = Callable[[Path], list[Record]]
KilledAt = Callable[[Workflow, Sequence[str]], int]


def fuzzy(source: Path, out: Path, **options: Any) -> FuzzyDeduplicationWorkflow:
    return FuzzyDeduplicationWorkflow(str(source), str(out), **options)


def ids(records: list[Record]) -> list[Any]:
    return sorted(record["id"] for record in records)


def words(seed: int, number: int = 80) -> list[str]:
    draw = random.Random(seed)
    return ["".join(draw.choices("abcdefghijklmnop", k=5)) for _ in range(number)]


def text(seed: int, *, changed: int = 0) -> str:
    """Return a text in which some words are replaced."""
    found = words(seed)
    for place in range(changed):
        found[place * 7] = f"other{'x' * place}"
    return " ".join(found)


def corpus(folder: Path, write: Write, files: int = 4, texts: int = 30) -> Path:
    """Write each text to several files, changed a little in each."""
    for place in range(files):
        records = [
            {"id": 1000 * place + row, "text": text((row * (place + 3)) % texts, changed=row % 2)}
            for row in range(40)
        ]
        write(folder / f"{place}.{'parquet' if place % 2 else 'jsonl'}", records)
    return folder


def test_near_duplicates_are_removed_except_the_first(
    tmp_path: Path, write: Write, records_in: RecordsIn
) -> None:
    write(tmp_path / "raw/a.jsonl", [{"id": 0, "text": text(1)}, {"id": 1, "text": text(2)}])
    write(tmp_path / "raw/b.parquet", [{"id": 2, "text": text(1, changed=1).upper() + "!"}])
    result = fuzzy(tmp_path / "raw", tmp_path / "out").run(HERE)
    counts = result.metadata
    assert list(result.runs) == ["sign", "match", "cluster", "gather", "decide", "remove"]
    assert ids(records_in(tmp_path / "out")) == [0, 1]
    counts.pop("report", None)
    assert counts == {"documents": 3, "empty": 0, "no_records": 0, "groups": 1, "duplicates": 1,
                    "removed": 1, "kept": 2, "compared_pairs": 1, "rejected_pairs": 0,
                    "kept_as_different": 0}  # fmt: skip


def test_keep_rules(tmp_path: Path, write: Write, records_in: RecordsIn) -> None:
    texts = [text(1, changed=1), text(2), text(1), text(1)]
    scores = [0.5, None, 2, 2]
    records = [{"id": n, "text": texts[n], "score": scores[n]} for n in range(4)]
    source = write(tmp_path / "a.jsonl", records)
    wanted = {"one": [0, 1], "none": [1], "mark": [0, 1, 2, 3]}
    for keep, kept in wanted.items():
        fuzzy(source, tmp_path / keep, keep=keep).run(HERE)
        assert ids(records_in(tmp_path / keep)) == kept
    fuzzy(source, tmp_path / "best", priority_field="score").run(HERE)
    assert ids(records_in(tmp_path / "best")) == [1, 2]
    marks = [(r["cluster_size"], r["is_duplicate"]) for r in records_in(tmp_path / "mark")]
    assert marks == [(3, False), (1, False), (3, True), (3, True)]
    clusters = [r["cluster_id"] for r in records_in(tmp_path / "mark")]
    assert clusters[0] == clusters[2] == clusters[3]
    assert clusters[1] is None


def test_engines_and_partitions_give_the_same_result(
    tmp_path: Path, write: Write, records_in: RecordsIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = corpus(tmp_path / "raw", write)
    ways: list[tuple[str, dict[str, Any]]] = [
        ("numpy", {}),
        ("auto", {"partitions": 5}),
        ("numpy", {"links_in_memory": 1, "partitions": 3, "input_blocksize": 15_000}),
        ("auto", {"input_blocksize": 12_000, "partitions": 4}),
    ]
    found = []
    for number, (engine, options) in enumerate(ways):
        monkeypatch.setenv("CURATOR_DEDUP_ENGINE", engine)
        out = tmp_path / f"out{number}"
        counts = fuzzy(source, out, **options).run(HERE).metadata
        found.append((ids(records_in(out)), counts))
    assert found[0] == found[1] == found[2] == found[3]
    assert found[0][1]["kept"] == found[0][1]["groups"] == 22


def test_time_is_linear_in_equal_documents(tmp_path: Path) -> None:
    line = json.dumps({"text": text(1)}) + "\n"
    (tmp_path / "a.jsonl").write_text(line * 50_000)
    started = time.process_time()
    workflow = fuzzy(
        tmp_path / "a.jsonl", tmp_path / "out", num_bands=4, minhashes_per_band=4,
        links_in_memory=50_000, partitions=1,
    )  # fmt: skip
    result = workflow.run(HERE)
    assert result.metadata["removed"] == 49_999
    assert "both_0" not in result.runs
    links = sum(pq.read_metadata(path).num_rows
                for path in Path(workflow.work_dir, "links").glob("*.parquet"))  # fmt: skip
    assert links == 50_000  # the first is linked with itself
    assert time.process_time() - started < 25


def test_empty_texts_are_no_duplicates(tmp_path: Path, write: Write, records_in: RecordsIn) -> None:
    texts = ["", None, " \n", "?!", "?!", "a", "A.", "b"]
    source = write(tmp_path / "a.jsonl", [{"id": n, "text": t} for n, t in enumerate(texts)])
    counts = fuzzy(source, tmp_path / "out").run(HERE).metadata
    assert ids(records_in(tmp_path / "out")) == [0, 1, 2, 3, 4, 5, 7]
    assert (counts["empty"], counts["removed"]) == (3, 1)
    counts = fuzzy(source, tmp_path / "full", keep_empty=False).run(HERE).metadata
    assert ids(records_in(tmp_path / "full")) == [3, 4, 5, 7]
    assert (counts["removed"], counts["kept"]) == (4, 4)


def test_different_fields_and_invalid_lines(
    tmp_path: Path, write: Write, records_in: RecordsIn
) -> None:
    write(tmp_path / "raw/a.jsonl", [{"id": 0, "text": text(1), "url": "x"}])
    write(tmp_path / "raw/b.jsonl", [{"id": 1, "body": 3}, {"id": 2, "text": text(1), "n": [1]}])
    write(tmp_path / "raw/c.parquet", [{"text": text(1), "id": 3, "more": 1.5}])
    with open(tmp_path / "raw/b.jsonl", "a") as lines:
        lines.write("{broken\n" + "".join(f'{{"id": {n}, "text": "t{"x" * n}"}}\n'
                                          for n in range(10, 25)))  # fmt: skip
    counts = fuzzy(tmp_path / "raw", tmp_path / "out").run(HERE).metadata
    assert ids(records_in(tmp_path / "out")) == [0, 1, *range(10, 25)]
    assert counts["no_records"] == 1


def test_removed_documents_are_similar_enough_to_a_kept_one(
    tmp_path: Path, write: Write, records_in: RecordsIn
) -> None:
    """In a chain, neighbours are similar, but its ends are not."""
    chain = [{"id": n, "text": text(1, changed=n)} for n in range(8)]
    source = write(tmp_path / "a.jsonl", chain)
    bands = {"num_bands": 60, "minhashes_per_band": 3}
    result = fuzzy(source, tmp_path / "all", verify=None, **bands).run(HERE)
    assert ids(records_in(tmp_path / "all")) == [0]
    assert "rejected_pairs" not in result.metadata
    counts = fuzzy(source, tmp_path / "out", keep="mark", **bands).run(HERE).metadata
    marked = records_in(tmp_path / "out")
    sets = {r["id"]: shingle_sets(Shingling(), [r["text"]])[0] for r in marked}
    stays = [r for r in marked if not r["is_duplicate"]]
    assert 1 < len(stays) < 8
    assert counts["kept_as_different"] == len(stays) - 1
    assert counts["compared_pairs"] == counts["rejected_pairs"] + counts["duplicates"]
    for record in marked:
        best = min(
            (r["id"] for r in stays if r["cluster_id"] == record["cluster_id"]),
            default=record["id"],
        )
        assert jaccard(sets[best], sets[record["id"]]) >= 0.6
    counts = fuzzy(source, tmp_path / "none", verify=1.0, **bands).run(HERE).metadata
    assert counts["removed"] == 0


def test_equal_documents_are_verified_once(tmp_path: Path, write: Write) -> None:
    for place in range(3):
        write(tmp_path / f"raw/{place}.jsonl", [{"text": text(1)}] * 400)
    workflow = fuzzy(tmp_path / "raw", tmp_path / "out", verify=0.9)
    assert workflow.run(HERE).metadata["kept"] == 1
    [shingled] = Path(workflow.work_dir, "shingled").glob("*.parquet")
    lengths = [len(one) for one in pq.read_table(shingled)["shingles"].to_pylist()]
    assert sum(map(bool, lengths)) == 1


def test_columns_of_intermediate_files(tmp_path: Path, write: Write) -> None:
    source = write(tmp_path / "a.jsonl", [{"text": text(1)}, {"text": text(1)}, {"text": ""}])
    work = str(tmp_path / "work")
    fuzzy(source, tmp_path / "out", work_path=work, keep_empty=False, partitions=1).run(HERE)
    columns = {
        "bands": ["key", "block", "file", "row", "state"],
        "links": ["doc", "to", "known", "block", "file", "row", "state"],
        "members": ["doc", "cluster", "known", "block", "file", "row", "state"],
        "shingled": [
            "doc",
            "cluster",
            "known",
            "block",
            "file",
            "row",
            "state",
            "digest",
            "shingles",
        ],
        "decisions": [
            "block",
            "file",
            "row",
            "keep",
            "is_duplicate",
            "cluster_id",
            "cluster_size",
            "known",
        ],
    }
    for name, wanted in columns.items():
        [path] = (tmp_path / "work" / name).glob("*.parquet")
        assert pq.read_table(path).column_names == wanted
    [bands] = (tmp_path / "work/bands").glob("*.parquet")
    assert pq.read_metadata(bands).num_rows == 2 * 14 + 1


@pytest.mark.parametrize("verify", [None, 0.7])
def test_later_crawls_are_compared_with_earlier_ones(
    tmp_path: Path, write: Write, records_in: RecordsIn, verify: float | None
) -> None:
    index = str(tmp_path / "index")
    write(tmp_path / "monday/a.jsonl", [{"id": n, "text": text(n)} for n in range(3)])
    write(tmp_path / "tuesday/a.jsonl",
          [{"id": 10 + n, "text": text(n, changed=1)} for n in range(1, 5)])  # fmt: skip
    write(tmp_path / "wednesday/a.jsonl",
          [{"id": 20 + n, "text": text(n)} for n in (2, 3, 4, 5, 5)])  # fmt: skip

    def crawl(day: str, out: str) -> list[int]:
        fuzzy(tmp_path / day, tmp_path / out, index_path=index, verify=verify).run(HERE)
        return ids(records_in(tmp_path / out))

    assert crawl("monday", "1") == [0, 1, 2]
    assert crawl("tuesday", "2") == [13, 14]
    assert crawl("wednesday", "3") == [25]
    # Again: a crawl is no duplicate of its own entries in the index, nor of those that later
    # crawls added.
    assert crawl("monday", "4") == [0, 1, 2]
    assert crawl("tuesday", "5") == [13, 14]
    # One more file, and a copy of everything as another crawl.
    write(tmp_path / "monday/b.jsonl", [{"id": 5, "text": text(1)}, {"id": 6, "text": text(77)}])
    assert crawl("monday", "6") == [0, 1, 2, 6]
    write(tmp_path / "copy/a.jsonl", [{"id": n, "text": text(n)} for n in range(3)])
    assert crawl("copy", "7") == []
    workflow = fuzzy(tmp_path / "monday", tmp_path / "6", index_path=index, verify=verify)
    assert workflow.run(HERE).did_nothing


def test_index_refuses_other_options(tmp_path: Path, write: Write) -> None:
    source = write(tmp_path / "a.jsonl", [{"text": text(1)}])
    index = str(tmp_path / "index")
    fuzzy(source, tmp_path / "out", index_path=index).run(HERE)
    with pytest.raises(InputError, match=r"was made with seed=42, not 7; give the same options"):
        fuzzy(source, tmp_path / "out2", index_path=index, seed=7).run(HERE)
    with pytest.raises(InputError, match=r"partitions is 3, but the index .* has 16; leave part"):
        fuzzy(source, tmp_path / "out3", index_path=index, partitions=3).run(HERE)


def test_index_without_shingles_is_refused_for_verification(tmp_path: Path, write: Write) -> None:
    source = write(tmp_path / "a.jsonl", [{"text": text(1)}])
    index = str(tmp_path / "index")
    fuzzy(source, tmp_path / "out", index_path=index, verify=None).run(HERE)
    with pytest.raises(InputError, match="verified=False, not True"):
        fuzzy(source, tmp_path / "out2", index_path=index).run(HERE)


def test_documents_of_earlier_crawls_are_verified(
    tmp_path: Path, write: Write, records_in: RecordsIn
) -> None:
    """All share bands, but only some documents are similar enough."""
    options = {"num_bands": 60, "minhashes_per_band": 2, "index_path": str(tmp_path / "index")}
    write(tmp_path / "monday/a.jsonl", [{"id": n, "text": text(n)} for n in range(3)])
    write(tmp_path / "tuesday/a.jsonl", [
        {"id": 10, "text": text(0, changed=2)},
        {"id": 11, "text": text(1, changed=10)},
        {"id": 12, "text": text(1, changed=9)},
        {"id": 13, "text": text(2)},
    ])  # fmt: skip
    fuzzy(tmp_path / "monday", tmp_path / "1", **options).run(HERE)
    counts = fuzzy(tmp_path / "tuesday", tmp_path / "2", **options).run(HERE).metadata
    assert ids(records_in(tmp_path / "2")) == [11]
    assert (counts["duplicates"], counts["kept_as_different"]) == (3, 1)
    assert counts["rejected_pairs"] >= 2
    # Only documents that an earlier crawl kept are compared, not those it removed.
    write(tmp_path / "wednesday/a.jsonl", [{"id": 20, "text": text(1, changed=10)},
                                           {"id": 21, "text": text(2, changed=1)}])  # fmt: skip
    fuzzy(tmp_path / "wednesday", tmp_path / "3", **options).run(HERE)
    assert ids(records_in(tmp_path / "3")) == []


@pytest.mark.parametrize("verify", [None, 0.7])
def test_links_in_files_find_the_same_earlier_documents(
    tmp_path: Path, write: Write, records_in: RecordsIn, verify: float | None
) -> None:
    corpus(tmp_path / "monday", write, files=2)
    corpus(tmp_path / "tuesday", write, files=4)
    found = []
    for links in (20_000_000, 1):
        options: dict[str, Any] = {
            "index_path": str(tmp_path / f"index{links}"), "links_in_memory": links,
            "verify": verify,
        }  # fmt: skip
        for day in ("monday", "tuesday"):
            fuzzy(tmp_path / day, tmp_path / f"{day}{links}", **options).run(HERE)
        found.append(ids(records_in(tmp_path / f"tuesday{links}")))
    assert found[0] == found[1]
    assert 0 < len(found[0]) < 20


def test_concurrent_runs_are_refused(tmp_path: Path, write: Write) -> None:
    from curator_core.run.directory import RunDirectory
    from curator_core.run.locks import lock_run_directory

    source = write(tmp_path / "a.jsonl", [{"text": text(1)}])
    index = tmp_path / "index"
    workflow = fuzzy(source, tmp_path / "out", index_path=str(index))
    for home in (Path(workflow.work_dir, ".curator"), index / ".curator"):
        RunDirectory(str(home), {}).create()
        lock = lock_run_directory(str(home))
        try:
            with pytest.raises(ResumeError, match="is in use by process"):
                workflow.run(HERE)
        finally:
            lock.release()
    assert workflow.run(HERE).metadata["kept"] == 1


def test_changed_input_updates_the_output(
    tmp_path: Path, write: Write, records_in: RecordsIn
) -> None:
    write(tmp_path / "raw/b.jsonl", [{"id": 1, "text": text(1)}, {"id": 2, "text": text(2)}])
    workflow = fuzzy(tmp_path / "raw", tmp_path / "out", links_in_memory=2)
    workflow.run(HERE)
    assert workflow.run(HERE).did_nothing
    write(tmp_path / "raw/a.jsonl", [{"id": n, "text": text(n % 2 + 1)} for n in (0, 3, 5, 7)])
    assert "small_1" in workflow.run(HERE).runs
    assert ids(records_in(tmp_path / "out")) == [0, 3]
    (tmp_path / "raw/a.jsonl").unlink()
    assert workflow.run(HERE, removed_inputs="prune").metadata["duplicates"] == 0
    assert ids(records_in(tmp_path / "out")) == [1, 2]
    with pytest.raises(ResumeError, match="num_bands"):
        fuzzy(tmp_path / "raw", tmp_path / "out", num_bands=5).run(HERE)


def test_all_invalid_options_are_reported(tmp_path: Path, write: Write) -> None:
    source = write(tmp_path / "a.jsonl", [{"text": "x", "score": "high"}])
    workflow = fuzzy(
        source, tmp_path / "out", keep="on", num_bands=0, char_ngrams=3, word_ngrams=3, verify=2,
        seed=-1, text_field="txt", index_path="x", links_in_memory=0,
    )  # fmt: skip
    with pytest.raises(PipelineError) as caught:
        workflow.run(HERE)
    message = str(caught.value)
    for sentence in (
        "fuzzy_deduplication: keep is 'on' (did you mean one?)",
        "num_bands is 0, but must be 1 or more",
        "links_in_memory is 0, but must be 1 or more",
        "word_ngrams and char_ngrams are both set; set only one of them",
        "verify is 2, but must be above 0 and at most 1",
        "seed is -1",
        "no such field (did you mean text?)",
    ):
        assert sentence in message
    with pytest.raises(BudgetError, match="priority that is not a number: 'high'"):
        fuzzy(source, tmp_path / "out1", priority_field="score").run(HERE)
    with pytest.raises(PipelineError, match="at most 65,536"):
        fuzzy(source, tmp_path / "out2", num_bands=1000, minhashes_per_band=1000).run(HERE)


def test_input_without_duplicates(tmp_path: Path, write: Write, records_in: RecordsIn) -> None:
    source = write(tmp_path / "a.jsonl", [{"id": n, "text": text(n)} for n in range(20)])
    for options in ({}, {"verify": 0.5}, {"index_path": str(tmp_path / "index")}):
        out = tmp_path / str(len(str(options)))
        counts = fuzzy(source, out, **options).run(HERE).metadata
        assert (counts["kept"], counts["groups"]) == (20, 0)
        assert len(records_in(out)) == 20


def test_input_without_words(tmp_path: Path, write: Write, records_in: RecordsIn) -> None:
    source = write(tmp_path / "a.jsonl", [{"id": 0, "text": ""}, {"id": 1, "text": "?"}])
    counts = fuzzy(source, tmp_path / "out").run(HERE).metadata
    assert (counts["documents"], counts["empty"], counts["kept"]) == (2, 1, 2)
    assert len(records_in(tmp_path / "out")) == 2


def test_workflow_is_registered() -> None:
    assert plugins().workflows.load("dedup.fuzzy") is FuzzyDeduplicationWorkflow


BEFORE = ("bands/part-*", "links/part-*", "stars/*/part-*")
VERIFIED = ("shingled/part-*", "decisions/part-*", ".curator/*/remove/*")
INDEXED = ("clusters/*/part-*", ".curator/*/recall/*", ".curator/*/index/*")


@pytest.mark.parametrize(("index", "marks"), [(None, BEFORE), (None, VERIFIED), ("index", INDEXED)])
def test_killed_run_resumes_with_the_same_result(
    tmp_path: Path,
    write: Write,
    records_in: RecordsIn,
    killed_at: KilledAt,
    index: str | None,
    marks: tuple[str, ...],
) -> None:
    verify = None if marks is BEFORE else 0.6
    source = corpus(tmp_path / "raw", write)
    fuzzy(source, tmp_path / "whole", verify=verify).run(HERE)
    wanted = ids(records_in(tmp_path / "whole"))
    out = tmp_path / "out"
    workflow = fuzzy(
        source, out, verify=verify, links_in_memory=10, partitions=2, input_blocksize=10_000,
        index_path=index and str(tmp_path / index),
    )  # fmt: skip
    assert killed_at(workflow, marks) > 1
    for _ in range(2):
        workflow.run(HERE)
        assert ids(records_in(out)) == wanted
    assert not list(out.rglob("*.staged"))


def test_existing_column_is_not_replaced(tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": ["x"], "cluster_id": ["y"]}), tmp_path / "a.parquet")
    with pytest.raises(PipelineError, match="has a field 'cluster_id' already"):
        fuzzy(tmp_path / "a.parquet", tmp_path / "out", keep="mark").run(HERE)
