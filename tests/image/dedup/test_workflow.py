"""The workflow removes all duplicates within the threshold and keeps the best."""

import io
import json
import tarfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from curator_core import Curation, InputError, LocalExecutor, ParquetWriter, PipelineError
from curator_image import SizeFilter, WebDatasetReader, WebDatasetWriter
from curator_image.dedup.workflow import ImageDeduplicationWorkflow
from PIL import Image


def picture(seed: int, size: tuple[int, int] = (240, 180)) -> Image.Image:
    chance = np.random.default_rng(seed)
    clouds = Image.fromarray(chance.integers(0, 256, (6, 8, 3), np.uint8))
    return clouds.resize(size, Image.Resampling.BICUBIC)


def encoded(one: Image.Image, kind: str = "JPEG", **options: object) -> bytes:
    sink = io.BytesIO()
    one.save(sink, kind, **options)
    return sink.getvalue()


def shard(path: Path, samples: dict[str, bytes]) -> None:
    path.parent.mkdir(exist_ok=True, parents=True)
    with tarfile.open(path, "w") as tar:
        for name, data in samples.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))


HERE = LocalExecutor(workers=0)

ORIGINALS = {f"a{seed}.jpg": encoded(picture(seed), quality=90) for seed in range(12)}
LARGER = encoded(picture(0, (480, 360)), quality=95)
POORER = encoded(picture(1), quality=40)
LOSSLESS = encoded(Image.open(io.BytesIO(ORIGINALS["a2.jpg"])), "PNG")


@pytest.fixture
def shards(tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    shard(folder / "0.tar", ORIGINALS)
    copies = {"b0.jpg": LARGER, "b1.jpg": POORER, "b2.png": LOSSLESS}
    copies |= {"b3.jpg": ORIGINALS["a3.jpg"], "b4.jpg": encoded(picture(99))}
    copies |= {"flat.png": encoded(Image.new("RGB", (90, 90)), "PNG")}
    copies |= {"flat2.png": encoded(Image.new("RGB", (80, 90), (250, 250, 250)), "PNG")}
    copies |= {"broken.jpg": ORIGINALS["a4.jpg"][:-2000]}
    shard(folder / "1.tar", copies)
    return folder


def workflow(shards: Path, output: Path, **options: object) -> ImageDeduplicationWorkflow:
    writer = ParquetWriter(str(output))
    options = {"writer": writer, **options}
    return ImageDeduplicationWorkflow(str(shards), str(output), **options)  # type: ignore[arg-type]


def rows_in(output: Path) -> dict[str, dict[str, object]]:
    table = pa.concat_tables([pq.read_table(p) for p in sorted(output.glob("*.parquet"))])
    return {row["key"]: row for row in table.to_pylist()}


def removed(shards: Path, output: Path, **options: object) -> set[str]:
    workflow(shards, output, **options).run(HERE)
    every = {name.partition(".")[0] for name in ORIGINALS}
    every |= {"b0", "b1", "b2", "b3", "b4", "flat", "flat2", "broken"}
    return every - rows_in(output).keys()


def test_the_largest_of_similar_pictures_is_kept(shards: Path, tmp_path: Path) -> None:
    result = workflow(shards, tmp_path / "out").run(HERE)
    kept = rows_in(tmp_path / "out")
    assert {"a0", "b1", "b3"}.isdisjoint(kept)
    assert len({"a2", "b2"} & kept.keys()) == 1
    assert kept["b0"]["image"] == LARGER, "bytes are those that were read"
    assert result.metadata == {
        "pictures": 19, "unreadable": 1, "flat": 2,
        "groups": 4, "duplicates": 4, "removed": 4, "kept": 16,
    }  # fmt: skip


def test_which_to_keep_first_keeps_the_first(shards: Path, tmp_path: Path) -> None:
    dropped = removed(shards, tmp_path / "out", which_to_keep="first")
    assert dropped == {"b0", "b1", "b2", "b3"}


def test_equal_bytes_and_equal_pixels(shards: Path, tmp_path: Path) -> None:
    by_bytes = removed(shards, tmp_path / "bytes", by="bytes")
    assert by_bytes == {"b3"}
    by_pixels = removed(shards, tmp_path / "pixels", by="pixels", which_to_keep="first")
    assert by_pixels == {"b2", "b3"}


@pytest.mark.parametrize("by", ["dhash", "pdq"])
def test_other_hashes(shards: Path, tmp_path: Path, by: str) -> None:
    assert removed(shards, tmp_path / "out", by=by, which_to_keep="first") >= {"b2", "b3"}


def test_duplicates_can_all_be_marked_or_all_be_removed(shards: Path, tmp_path: Path) -> None:
    assert removed(shards, tmp_path / "mark", keep="mark") == set()
    marked = rows_in(tmp_path / "mark")
    assert marked["a0"]["cluster_id"] == marked["b0"]["cluster_id"]
    assert marked["a0"]["is_duplicate"]
    assert not marked["b0"]["is_duplicate"]
    assert marked["b0"]["cluster_size"] == 2
    assert marked["b4"]["cluster_id"] is None
    assert marked["b4"]["cluster_size"] == 1
    dropped = removed(shards, tmp_path / "none", keep="none")
    assert dropped == {"a0", "a1", "a2", "a3", "b0", "b1", "b2", "b3"}


def test_a_priority_column_overrides_size(tmp_path: Path) -> None:
    score = {"a.json": json.dumps({"beauty": 7}).encode(), "b.json": b'{"beauty": 3}'}
    small, large = encoded(picture(1)), encoded(picture(1, (480, 360)))
    shard(tmp_path / "in" / "0.tar", {
        "a.jpg": small, "a.json": score["a.json"], "b.jpg": large, "b.json": score["b.json"],
    })  # fmt: skip
    from curator_image.readers.webdataset import WebDatasetReader

    reader = WebDatasetReader(str(tmp_path / "in"), json_fields=["beauty"])
    workflow(tmp_path / "in", tmp_path / "out", reader=reader, priority_field="beauty").run(HERE)
    assert rows_in(tmp_path / "out").keys() == {"a"}


def test_no_duplicates_is_not_an_error(tmp_path: Path) -> None:
    shard(tmp_path / "in" / "0.tar", {"a.jpg": ORIGINALS["a0.jpg"], "b.jpg": ORIGINALS["a1.jpg"]})
    result = workflow(tmp_path / "in", tmp_path / "out").run(HERE)
    assert result.metadata["removed"] == 0
    assert len(rows_in(tmp_path / "out")) == 2


def test_a_second_run_does_nothing(shards: Path, tmp_path: Path) -> None:
    workflow(shards, tmp_path / "out").run(HERE)
    again = workflow(shards, tmp_path / "out").run(HERE)
    assert again.did_nothing
    assert again.metadata["removed"] == 4


def test_changed_input_is_refused(shards: Path, tmp_path: Path) -> None:
    workflow(shards, tmp_path / "out").run(HERE)
    shard(shards / "2.tar", {"c.jpg": ORIGINALS["a5.jpg"]})
    with pytest.raises(InputError, match=r"the input has changed since .* was created; give"):
        workflow(shards, tmp_path / "out").run(HERE)


@pytest.mark.parametrize("partitions", [1, 7])
def test_partitions_do_not_change_the_result(shards: Path, tmp_path: Path, partitions: int) -> None:
    dropped = removed(shards, tmp_path / "out", partitions=partitions, which_to_keep="first")
    assert dropped == {"b0", "b1", "b2", "b3"}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"by": "phahs"}, r"by is 'phahs' \(did you mean phash\?\)"),
        ({"threshold": 20}, "threshold is 20, but must be from 0 to 16 of the 64 bits of phash"),
        ({"by": "bytes", "threshold": 3}, "bytes must be equal: remove it"),
        ({"keep": "some"}, "keep is 'some'"),
        ({"partitions": 0}, "partitions is 0, but must be from 1 to 4096"),
    ],
)
def test_wrong_options(
    shards: Path, tmp_path: Path, options: dict[str, object], expected: str
) -> None:
    with pytest.raises(PipelineError, match=expected):
        workflow(shards, tmp_path / "out", **options).run(HERE)


def test_missing_input_is_reported(tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match="no files match"):
        workflow(tmp_path / "nowhere", tmp_path / "out").run(HERE)


def test_it_is_a_step_between_other_stages(shards: Path, tmp_path: Path) -> None:
    steps = [
        WebDatasetReader(str(shards)),
        SizeFilter(min_side=100),  # drops the flat ones
        ImageDeduplicationWorkflow.step("dedup"),
        WebDatasetWriter(str(tmp_path / "out")),
    ]
    result = Curation(steps, max_failures=None).run(HERE)

    names = []
    for path in (tmp_path / "out").glob("*.tar"):
        with tarfile.open(path) as tar:
            names += [name for name in tar.getnames() if not name.endswith(".json")]
    assert result.metadata["2-dedup"]["removed"] == 4
    assert len({name.rpartition(".")[0] for name in names}) == len(names)
    assert not {"flat.png", "flat2.png"} & set(names)
    assert {"a5.jpg", "b4.jpg"} < set(names)
