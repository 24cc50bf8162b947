"""Shards are written byte for byte, with unique keys."""

import io
import json
import tarfile
from pathlib import Path

import pytest
from curator_core import LocalExecutor, Mixed, Pipeline
from curator_image import ImageBatch, SizeFilter, WebDatasetReader, WebDatasetWriter
from PIL import Image
from tars import JPEG, member, plain, read, write


def contents(folder: Path) -> dict[str, bytes]:
    found = {}
    for path in sorted(folder.glob("*.tar*")):
        with tarfile.open(path) as tar:
            for one in tar:
                file = tar.extractfile(one)
                assert file is not None
                found[one.name] = file.read()
    return found


def batch(**columns: list[object]) -> ImageBatch:
    names = list(columns)
    rows = [dict(zip(names, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    made = ImageBatch.from_pylist(rows)
    made.task_id = "0" * 32
    return made


def test_images_are_written_byte_for_byte(tmp_path: Path) -> None:
    members = [
        *plain(40),
        member("b/0.seg.png", b"mask"),
        member("b/0.JPG"),
        member("b/0.key", b"k"),
    ]
    members.append(member(f"{'l' * 130}/é.jpg"))
    (tmp_path / "in").mkdir()
    path = write(tmp_path / "in" / "a.tar", members)
    stages = [
        WebDatasetReader(str(path), blocksize="20kB"),
        WebDatasetWriter(str(tmp_path / "out")),
    ]
    Pipeline("copy", stages=stages).run(LocalExecutor(workers=0))
    assert contents(tmp_path / "out") == contents(tmp_path / "in")


def test_a_second_run_writes_the_same_shards(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tar", plain(12))
    for out in ("one", "two"):
        stages = [WebDatasetReader(str(path)), WebDatasetWriter(str(tmp_path / out))]
        Pipeline("copy", stages=stages).run(LocalExecutor(workers=0))
    one, two = (
        {p.name: p.read_bytes() for p in (tmp_path / o).glob("*.tar")} for o in ("one", "two")
    )
    assert one == two
    assert len(one) == 1


@pytest.mark.parametrize(
    ("ending", "expected"),
    [
        ("meta.json", {"0.json": {"w": 1}, "0.meta.json": {"blur": 2.5}}),
        ("json", {"0.json": {"w": 1, "blur": 2.5}}),
        (None, {"0.json": {"w": 1}}),
    ],
)
def test_added_columns_are_written_as_json_next_to_the_image(
    tmp_path: Path, ending: str | None, expected: dict[str, object]
) -> None:
    made = batch(key=["0"], image=[JPEG], extension=["jpg"], json=['{"w": 1}'], blur=[2.5])
    WebDatasetWriter(str(tmp_path), metadata_ending=ending).process(
        made.with_sidecars({"json": "json"})
    )
    [path] = tmp_path.glob(".*.staged")
    with tarfile.open(path) as tar:
        found = {m.name: tar.extractfile(m).read() for m in tar}  # type: ignore[union-attr]
    assert found.pop("0.jpg") == JPEG
    assert {name: json.loads(data) for name, data in found.items()} == expected


def test_rows_with_the_same_key_go_to_separate_shards(tmp_path: Path) -> None:
    first = batch(key=["0", "1"], image=[b"a", b"b"], extension=["jpg", "jpg"])
    second = batch(key=["0", "2"], image=[b"c", b"d"], extension=["png", "jpg"])
    result = WebDatasetWriter(str(tmp_path)).process_batch([first, second])
    assert isinstance(result, Mixed)
    [written] = result
    names = [Path(path).name for path in written.paths]
    assert [name.removeprefix(names[0].removesuffix(".tar")) for name in names] == [
        ".tar",
        "-2.tar",
    ]
    assert [one.items for one in written.staged] == [3, 1]
    [rows, again] = [read(one.staged, wrong_extension="keep")[0] for one in written.staged]
    assert ([row["image"] for row in rows], [row["image"] for row in again]) == (
        [b"a", b"b", b"d"],
        [b"c"],
    )


def test_rows_with_unusable_names_are_quarantined_alone(tmp_path: Path) -> None:
    bad = ["a\0b", "../a", "/a", "a/", ""]
    good = ["k" * 400, "a//b", *(f"k{n}" for n in range(9))]
    keys = [*bad, *good, "no image"]
    made = batch(key=keys, image=[*[JPEG] * 16, None], extension=["jpg"] * 17)
    pipeline = Pipeline("p", stages=[WebDatasetWriter(str(tmp_path / "out"))])
    result = pipeline.run(LocalExecutor(workers=0), tasks=[made])
    assert set(contents(tmp_path / "out")) == {f"{key}.jpg" for key in good}
    assert sorted(record.where for record in result.quarantined) == sorted(
        f"key {key!r}" for key in [*bad, "no image"]
    )
    read_again = [WebDatasetReader(str(tmp_path / "out"))]
    [again] = Pipeline("again", stages=read_again).run(LocalExecutor(workers=0))
    assert again.keys == good  # type: ignore[attr-defined]


def test_dropped_rows_are_kept_whatever_their_keys(tmp_path: Path) -> None:
    keys = ["a\0b", "../a"]
    made = batch(key=keys, image=[JPEG] * 2, extension=["jpg"] * 2)
    stages = [
        SizeFilter(min_side=10_000),
        WebDatasetWriter(str(tmp_path / "out"), dropped_path=str(tmp_path / "dropped")),
    ]
    data = encoded_picture()
    made = made.with_images([data, data], ["png", "png"])
    Pipeline("p", stages=stages).run(LocalExecutor(workers=0), tasks=[made])
    names = [name for name in contents(tmp_path / "dropped") if name.endswith(".png")]
    assert names == ["a%00b.png", "..%2Fa.png"]


def encoded_picture() -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (8, 8)).save(out, "PNG")
    return out.getvalue()


def test_only_selected_fields_are_written(tmp_path: Path) -> None:
    made = batch(key=["0"], image=[JPEG], extension=["jpg"], txt=["x"], blur=[2.5], sharp=[True])
    made = made.with_sidecars({"txt": "txt"})
    WebDatasetWriter(str(tmp_path), fields=["blur"], compression="gz").process(made)
    [path] = tmp_path.glob(".*.staged")
    with tarfile.open(path, "r:gz") as tar:
        assert tar.getnames() == ["0.jpg", "0.meta.json"]
