"""Shards are read exactly once in parts, past damage and unsafe members."""

import gzip
import tarfile
from pathlib import Path
from random import Random

import fsspec
import pytest
from curator_core import InputError, Pipeline, PipelineError
from curator_image import WebDatasetReader
from tars import JPEG, keys, member, plain, read, write


def test_images_keys_and_sidecars_become_columns(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.tar",
        [
            member("d.1/000.jpg", JPEG),
            member("d.1/000.txt", "a cät".encode()),
            member("d.1/000.json", b'{"w": 3}'),
            member("d.1/001.PNG", b"\x89PNG\r\n\x1a\n"),
            member("d.1/001.key", b"7"),
        ],
    )
    rows, rejected, _ = read(path)
    assert rejected == []
    first, second = rows
    assert (first["key"], first["extension"]) == ("d.1/000", "jpg")
    assert (first["image"], first["txt"], first["json"]) == (JPEG, "a cät", '{"w": 3}')
    assert first["source"] == f"{path} byte 0"
    assert (second["key"], second["extension"], second["txt"]) == ("d.1/001", "PNG", None)
    assert second["key_file"] == b"7"


def test_json_values_become_columns(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.tar",
        [
            *(member("0.jpg"), member("0.json", b'{"w": 3, "u": "x"}'), member("1.jpg")),
            *(member("2.jpg"), member("2.json", b"[]"), member("3.jpg"), member("3.json", b"{")),
        ],
    )
    rows, rejected, _ = read(path, json_fields=["w"])
    assert [(row["key"], row["w"]) for row in rows] == [("0", 3), ("1", None)]
    assert [one.reason.split(":")[0] for one in rejected] == [
        "its .json is not a JSON object",
        "its .json is not valid JSON",
    ]


@pytest.mark.parametrize("kind", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_each_sample_is_read_by_exactly_one_part(tmp_path: Path, kind: int) -> None:
    """For any edges between parts, also inside the headers of long names."""
    folder = "y" * 60 if kind == tarfile.USTAR_FORMAT else "y" * 150
    members = plain(30)
    for number, (info, _) in enumerate(members):
        if number % 6 < 2:
            info.name = f"{folder}/{info.name}"
    path = write(tmp_path / "a.tar", members, kind)
    whole = keys(read(path)[0])
    assert len(whole) == 30
    size, rng = path.stat().st_size, Random(4)
    for _ in range(60):
        edges = [0, *sorted(rng.sample(range(1, size), rng.randint(1, 9)))]
        ends = [*edges[1:], None]
        found = [read(path, start, end) for start, end in zip(edges, ends, strict=True)]
        assert [key for rows, _, _ in found for key in keys(rows)] == whole, edges
        assert not any(rejected for _, rejected, _ in found)


def test_a_damaged_header_costs_the_samples_around_it(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tar", plain(9))
    data = bytearray(path.read_bytes())
    offset = data.index(b"a/0004.jpg")
    data[offset + 100 : offset + 160] = b"?" * 60
    path.write_bytes(data)
    rows, rejected, _ = read(path)
    assert keys(rows) == [f"a/000{n}" for n in (0, 1, 2, 5, 6, 7, 8)]
    assert [one.reason for one in rejected] == [
        "the shard is damaged right after it: files may be missing",
        "a tar header is missing; lost 1,536 bytes and the next sample",
    ]
    assert rejected[0].where == f"{path} byte {data.index(b'a/0003.jpg')} key 'a/0003'"
    assert rejected[1].where == f"{path} byte {offset}"


def test_damage_is_reported_once_however_a_shard_is_split(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tar", plain(9))
    data = bytearray(path.read_bytes())
    offset = data.index(b"a/0004.jpg")
    data[offset + 100 : offset + 160] = b"?" * 60
    path.write_bytes(data)
    whole = read(path)
    for edge in range(512, len(data), 512):
        parts = [read(path, 0, edge), read(path, edge, None)]
        assert [key for part in parts for key in keys(part[0])] == keys(whole[0]), edge


def test_a_truncated_shard_keeps_its_complete_samples(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tar", plain(9))
    data = path.read_bytes()
    offset = data.index(b"a/0006.jpg")
    path.write_bytes(data[: offset + 900])
    rows, rejected, _ = read(path)
    assert keys(rows) == [f"a/000{n}" for n in range(6)]
    [one] = rejected
    assert one.reason == "the file is truncated within its .jpg"
    assert one.where == f"{path} byte {offset} key 'a/0006'"


def test_unsafe_members_are_refused_and_others_kept(tmp_path: Path) -> None:
    links = [member(f"l{kind!r}.jpg", b"", kind) for kind in (b"1", b"2", b"3", b"4", b"6")]
    for info, _ in links:
        info.linkname = "/etc/passwd"
    path = write(
        tmp_path / "a.tar",
        [
            *map(member, ("0.jpg", "../1.jpg", "/2.jpg", "a/../../3.jpg")),
            *(*links, member("9.jpg"), member("..a.b/c..d.jpg")),
        ],
    )
    rows, rejected, _ = read(path)
    assert keys(rows) == ["0", "9", "..a.b/c"]
    assert [one.reason for one in rejected] == [
        "its name leads outside its folder (..)",
        "its name is an absolute path",
        "its name leads outside its folder (..)",
        "it is a hard link, not a regular file",
        "it is a symbolic link, not a regular file",
        "it is a character device, not a regular file",
        "it is a block device, not a regular file",
        "it is a named pipe, not a regular file",
    ]
    assert rejected[0].where.endswith("member '../1.jpg'")


def test_names_that_are_not_utf8_are_quarantined(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w", format=tarfile.GNU_FORMAT, errors="surrogateescape") as tar:
        tar.addfile(tarfile.TarInfo("b\udcff.jpg"))
    path.write_bytes(path.read_bytes()[:512] + write(tmp_path / "b.tar", plain(2)).read_bytes())
    rows, rejected, _ = read(path)
    assert keys(rows) == ["a/0000", "a/0001"]
    assert rejected[0].reason == "its name is not UTF-8"
    assert rejected[0].where == f"{path} byte 0 member 'b\\\\xff.jpg'"


def test_a_repeated_key_is_quarantined(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.tar", [member("0.jpg"), member("1.jpg"), member("0.jpg"), member("2.jpg")]
    )
    rows, [one], _ = read(path)
    assert keys(rows) == ["0", "1", "2"]
    assert one.reason == "another sample in the shard has the same key"
    path = write(tmp_path / "a.tar", [member("0.jpg"), member("0.jpg"), member("2.jpg")])
    rows, [one], _ = read(path)
    assert keys(rows) == ["2"]
    assert one.reason.startswith("it has two .jpg files; if dots belong to keys")


def test_dots_can_belong_to_keys(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.tar", [member("v.1.jpg"), member("v.1.txt", b"x"), member("v.2.jpg")]
    )
    rows, [one], _ = read(path)
    assert (rows, one.reason) == (
        [],
        "it has several images (1.jpg, 2.jpg); if dots belong to keys, set keys_end: last_dot",
    )
    assert keys(read(path, keys_end="last_dot")[0]) == ["v.1", "v.2"]


def test_a_mask_with_the_same_key_is_a_sidecar(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tar", [member("0.seg.png", b"mask"), member("0.jpg")])
    [row] = read(path)[0]
    assert (row["image"], row["seg.png"]) == (JPEG, b"mask")


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ([member("0.jpg", b"")], "the image is empty"),
        ([member("0.txt", b"x")], "it has no image, only .txt"),
        ([member("0.jpg")], "its .txt file is missing"),
        ([member("0.jpg"), member("0.txt", b"\xff")], "its .txt is not UTF-8: 0xff at 0"),
        (
            [member("0.jpg", b"\x89PNG\r\n\x1a\n"), member("0.txt")],
            "it is PNG, but is named .jpg; rename it, or set wrong_extension: keep",
        ),
        ([member("0.jpg", b"x" * 2000)], "its .jpg has more than 1,000 bytes"),
    ],
)
def test_incomplete_samples_are_quarantined(
    tmp_path: Path, members: list[tuple[tarfile.TarInfo, bytes]], reason: str
) -> None:
    good = [member("1.jpg"), member("1.txt", b"x")]
    rows, [one], _ = read(
        write(tmp_path / "a.tar", [*members, *good]), required=["txt"], max_file_bytes="1kB"
    )
    assert (keys(rows), one.reason) == (["1"], reason)
    assert "key '0'" in one.where


def test_the_first_part_of_a_compressed_shard_reads_all_of_it(tmp_path: Path) -> None:
    data = write(tmp_path / "a.tar", plain(9)).read_bytes()
    for name in ("b.tar.gz", "c.tgz"):
        (tmp_path / name).write_bytes(gzip.compress(data))
        assert len(read(tmp_path / name, 0, 700)[0]) == 9
        assert read(tmp_path / name, 700, None)[0] == []
    (tmp_path / "b.tar.gz").write_bytes(gzip.compress(data)[:-60])
    rows, rejected, _ = read(tmp_path / "b.tar.gz")
    assert "ends too early" in rejected[-1].reason
    assert len(rows) < 9


def test_a_file_of_another_kind_is_refused_with_one_error(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    for data, message in ((b"PK\x03\x04" * 400, "a zip file"), (b"hello" * 400, "not a tar file")):
        path.write_bytes(data)
        with pytest.raises(InputError, match=f"cannot read {path}: it is {message}"):
            read(path)
    path.write_bytes(b"")
    with pytest.raises(InputError, match="the file is empty"):
        read(path)


def test_shards_are_read_from_any_file_system(tmp_path: Path) -> None:
    data = write(tmp_path / "a.tar", plain(40, 100_000)).read_bytes()
    with fsspec.open("memory://tars/a.tar", "wb") as file:
        file.write(data)
    whole, cut = "memory://tars/a.tar", len(data) // 3
    parts = [read(whole, 0, cut), read(whole, cut, 2 * cut), read(whole, 2 * cut, None)]
    fsspec.filesystem("memory").rm("/tars", recursive=True)
    assert [row for rows, _, _ in parts for row in rows] == [
        {**row, "source": str(row["source"]).replace(str(tmp_path / "a.tar"), whole)}
        for row in read(tmp_path / "a.tar")[0]
    ]


def test_wrong_options_are_named(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tar", plain(2))
    reader = WebDatasetReader(str(path), keys_end="lastdot", wrong_extension="drop")  # type: ignore[arg-type]
    with pytest.raises(PipelineError) as caught:
        Pipeline("p", stages=[reader]).build()
    assert "keys_end is 'lastdot' (did you mean last_dot?)" in str(caught.value)
