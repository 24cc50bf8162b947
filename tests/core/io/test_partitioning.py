import gzip
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from curator_core import JsonlReader, Pipeline
from curator_core.errors import InputError, PipelineError
from curator_core.io.partitioning import FilePartitioning, parse_size
from curator_core.model.files import FileGroup
from curator_core.model.tasks import Empty
from curator_core.plan.plan import stage_options
from curator_core.testing import check_stage, run_stage
from hypothesis import given
from hypothesis import strategies as st


def fill(folder: Path, sizes: dict[str, int]) -> None:
    for name, size in sizes.items():
        (folder / name).write_bytes(b"\n" * size)


def partitions(stage: FilePartitioning) -> list[list[str]]:
    return [
        [str(part).rpartition("/")[2] for part in group.data] for group in stage.process(Empty())
    ]


def test_each_file_is_a_partition(tmp_path: Path):
    fill(tmp_path, {"b": 1, "a": 2, "c": 0})
    assert partitions(FilePartitioning(str(tmp_path))) == [["a"], ["b"], ["c"]]


def test_files_per_partition(tmp_path: Path):
    fill(tmp_path, dict.fromkeys("abcde", 1))
    stage = FilePartitioning(str(tmp_path), files_per_partition=2)
    assert partitions(stage) == [["a", "b"], ["c", "d"], ["e"]]


def test_limit_counts_partitions(tmp_path: Path):
    fill(tmp_path, dict.fromkeys("abcde", 1))
    stage = FilePartitioning(str(tmp_path), files_per_partition=2, limit=2)
    assert partitions(stage) == [["a", "b"], ["c", "d"]]


def test_blocksize_groups_small_files_and_divides_large_ones(tmp_path: Path):
    fill(tmp_path, {"a": 40, "b": 60, "c": 1, "d": 250, "e": 99, "f": 0})
    stage = FilePartitioning(str(tmp_path), blocksize=100, split="lines")
    assert partitions(stage) == [
        ["a", "b"],
        ["c"],
        ["d[0:83]"],
        ["d[83:166]"],
        ["d[166:]"],
        ["e", "f"],
    ]


def test_files_that_cannot_be_divided_stay_whole(tmp_path: Path):
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(os.urandom(1000)))
    fill(tmp_path, {"b.bin": 1000})
    lines = FilePartitioning(str(tmp_path / "a.jsonl.gz"), blocksize=100, split="lines")
    assert partitions(lines) == [["a.jsonl.gz"]]
    assert partitions(FilePartitioning(str(tmp_path / "b.bin"), blocksize=100)) == [["b.bin"]]


def test_a_large_file_of_lines_is_divided_by_itself(tmp_path: Path):
    with open(tmp_path / "big.jsonl", "wb") as file:
        file.truncate(100 * 2**20)  # takes no room on the disk
    groups = list(FilePartitioning(str(tmp_path), split="lines").process(Empty()))
    assert len(groups) == 4
    assert sum(group.num_bytes for group in groups) == 100 * 2**20
    assert max(group.num_bytes for group in groups) <= 32 * 2**20
    assert partitions(FilePartitioning(str(tmp_path))) == [["big.jsonl"]]


def test_parquet_is_divided_between_row_groups(tmp_path: Path):
    table = pa.table({"text": [os.urandom(500).hex() for _ in range(100)]})
    options = {
        "row_group_size": 10,
        "compression": "none",
        "use_dictionary": False,
        "write_statistics": False,
    }
    pq.write_table(table, tmp_path / "a.parquet", **options)
    stage = FilePartitioning(str(tmp_path), blocksize="36kB", split="row_groups")
    groups = list(stage.process(Empty()))
    assert partitions(stage) == [
        ["a.parquet[0:3]"],
        ["a.parquet[3:6]"],
        ["a.parquet[6:9]"],
        ["a.parquet[9:10]"],
    ]
    whole = (tmp_path / "a.parquet").stat().st_size
    assert sum(group.num_bytes for group in groups) == pytest.approx(whole, rel=0.01)


def test_a_damaged_parquet_file_is_left_to_its_reader(tmp_path: Path):
    fill(tmp_path, {"a.parquet": 1000})
    stage = FilePartitioning(str(tmp_path), blocksize=100, split="row_groups")
    assert partitions(stage) == [["a.parquet"]]


@given(st.lists(st.integers(0, 300), min_size=1, max_size=12), st.integers(1, 200))
def test_every_byte_is_in_exactly_one_partition(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], blocksize: int
):
    folder = tmp_path_factory.mktemp("parts")
    fill(folder, {f"{i:02}": size for i, size in enumerate(sizes)})
    seen: dict[str, int] = {}
    for group in FilePartitioning(str(folder), blocksize=blocksize, split="lines").process(Empty()):
        assert group.num_bytes <= blocksize
        for part in group.data:
            assert part.start == seen.get(part.path, 0)
            seen[part.path] = part.start + part.size
    assert list(seen.values()) == sizes


def test_partitions_are_the_same_each_time_and_change_with_their_files(tmp_path: Path):
    fill(tmp_path, {"a": 10, "b": 10})
    stage = FilePartitioning([str(tmp_path / "b"), str(tmp_path / "a")])
    first = [group.identity() for group in stage.process(Empty())]
    assert first == [group.identity() for group in stage.process(Empty())]
    os.utime(tmp_path / "b", ns=(1, 1))
    second = [group.identity() for group in stage.process(Empty())]
    assert second[0] == first[0]
    assert second[1] != first[1]


@pytest.mark.parametrize(
    ("size", "parsed"),
    [
        (100, 100),
        ("100", 100),
        ("256MB", 256_000_000),
        ("256 mib", 256 * 2**20),
        ("1.5kB", 1500),
        ("2G", 2_000_000_000),
        (None, None),
    ],
)
def test_sizes(size: int | str | None, parsed: int | None):
    assert parse_size(size) == parsed


@pytest.mark.parametrize("size", [0, -5, "", "MB", "12 apples", "0.1"])
def test_values_that_are_not_sizes(size: int | str):
    with pytest.raises(PipelineError, match="must be a size such as 256MB or 64MiB"):
        parse_size(size)


def test_every_wrong_option_is_reported(tmp_path: Path):
    stage = FilePartitioning(
        str(tmp_path), files_per_partition=-1, blocksize="many", limit=0, split="half"
    )
    assert list(stage.check()) == [
        "files_per_partition and blocksize are both set; set only one",
        "files_per_partition is -1, but must be 1 or more",
        "limit is 0, but must be 1 or more",
        "split is 'half', but must be one of whole, lines, members, row_groups",
        "blocksize is 'many', but must be a size such as 256MB or 64MiB",
    ]
    with pytest.raises(PipelineError, match="files_per_partition is -1"):
        list(stage.process(Empty()))


def test_no_path_at_all():
    [problem] = FilePartitioning([]).check()
    assert problem.startswith("file_paths is empty; name a file")


def test_a_path_that_matches_nothing_is_reported_before_and_during_the_run(tmp_path: Path):
    stage = FilePartitioning(str(tmp_path / "none"))
    message = f"no files match {tmp_path}/none (nearest existing folder: {tmp_path}, with no"
    [problem] = stage.check_sources()
    assert problem.startswith(message)
    with pytest.raises(InputError) as caught:
        list(stage.process(Empty()))
    assert str(caught.value).startswith(message)


def test_reading_from_the_folder_that_is_written_to(tmp_path: Path):
    fill(tmp_path, {"a": 1})
    stage = FilePartitioning(str(tmp_path))
    assert stage.would_read(f"{tmp_path}/part-0.jsonl")
    assert stage.would_read(f"{tmp_path}/out/part-0.jsonl")
    assert not stage.would_read(f"{tmp_path}-out/part-0.jsonl")


def test_credentials_are_shown_nowhere(tmp_path: Path):
    stage = FilePartitioning(str(tmp_path), storage_options={"secret": "hunter2"})
    assert "hunter2" not in repr(stage)
    assert "storage_options" not in stage_options(stage)


def test_it_passes_check_stage(tmp_path: Path):
    fill(tmp_path, {"a": 1, "b": 1})
    stage = FilePartitioning(str(tmp_path))
    check_stage(stage, Empty())
    outputs = run_stage(stage, Empty())
    assert [type(task) for task in outputs] == [FileGroup, FileGroup]


def test_an_unknown_protocol():
    [problem] = FilePartitioning("nowhere://bucket/a").check()
    assert problem == "cannot open nowhere://bucket/a: Protocol not known: nowhere"


def test_with_allow_empty_the_other_paths_are_still_read(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "a.jsonl").write_text('{"text": "one"}\n')
    paths = [str(tmp_path / "empty"), str(tmp_path / "full")]
    stages = [JsonlReader(paths)]
    with pytest.raises(PipelineError, match=r"no files match .*empty"):
        Pipeline(stages=stages).run("local")
    [batch] = Pipeline(stages=stages, allow_empty=True).run("local")
    assert batch.num_items == 1
    assert not Pipeline(stages=[JsonlReader(paths[:1])], allow_empty=True).run("local")


def test_members_divide_compressed_files_too(tmp_path: Path) -> None:
    path = tmp_path / "a.warc.gz"
    path.write_bytes(b"x" * 100)
    stage = FilePartitioning(str(path), blocksize=30, split="members")
    [*groups] = stage.process(Empty())
    assert [(part.start, part.end) for group in groups for part in group.data] == [
        (0, 25),
        (25, 50),
        (50, 75),
        (75, None),
    ]
