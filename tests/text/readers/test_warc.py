import gzip
import zlib
from pathlib import Path
from typing import Any

import pytest
from archives import HTTP, record, zipped
from curator_core import DocumentBatch, Empty, LocalExecutor, Pipeline, PipelineError
from curator_core.errors import StageError
from curator_core.testing import StageRun, check_stage, run_stages
from curator_text import JsonlWriter, WarcReader, WetReader


def write(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    return str(path)


def read(stage: WarcReader | WetReader) -> StageRun:
    return run_stages([stage], [Empty()], on_error="quarantine")


def rows(run: StageRun) -> list[dict[str, Any]]:
    batches = [task for task in run.outputs if isinstance(task, DocumentBatch)]
    return [row for batch in batches for row in batch.to_pylist()]


def reasons(run: StageRun) -> dict[str, int]:
    return dict(run.report.of(1).reasons)


def test_columns_of_a_response(tmp_path: Path) -> None:
    path = write(tmp_path / "a.warc.gz", zipped([record(4, b"<p>\xc3\xa9")]))
    assert rows(read(WarcReader(path))) == [
        {
            "url": "http://site.example/4",
            "warc_id": "urn:uuid:4",
            "date": "2024-01-05T00:00:00Z",
            "content_type": "text/html",
            "http_status": 200,
            "charset": "utf-8",
            "content": b"<p>\xc3\xa9",
        }
    ]


@pytest.mark.parametrize("label", [b"", b"Content-Type: text/html\r\n"])
def test_unlabelled_http_response_is_parsed(tmp_path: Path, label: bytes) -> None:
    labelled = b"Content-Type: application/http; msgtype=response\r\n"
    data = record(4, b"<p>x")
    assert labelled in data
    path = write(tmp_path / "a.warc", data.replace(labelled, label))
    [row] = rows(read(WarcReader(path)))
    assert (row["http_status"], row["content_type"]) == (200, "text/html")
    assert (row["charset"], row["content"]) == ("utf-8", b"<p>x")


def test_labelled_response_that_is_not_http_is_unchanged(tmp_path: Path) -> None:
    labelled = b"Content-Type: application/http; msgtype=response\r\n"
    data = record(4, b"20240105 site.example 192.0.2.1", http=b"").replace(
        labelled, b"Content-Type: text/dns\r\n"
    )
    [row] = rows(read(WarcReader(write(tmp_path / "a.warc", data))))
    assert (row["content_type"], row["http_status"]) == ("text/dns", None)


def test_reader_fulfills_the_stage_contract(tmp_path: Path) -> None:
    path = write(tmp_path / "a.warc.gz", zipped([record(4, b"<p>x"), record(5, b"<p>y")]))
    check_stage(WarcReader(path), Empty())


def test_dropped_records_are_counted_by_reason(tmp_path: Path) -> None:
    picture = HTTP.replace(b"Text/HTML", b"image/png")
    records = [
        record(0, b"<p>x"),
        record(1, b"x", http=picture),
        record(2, b"x", kind="metadata"),
        record(3, b"x", kind="nonsense"),
        record(4, b"x" * 5000),
    ]
    path = write(tmp_path / "a.warc.gz", zipped(records))
    run = read(WarcReader(path, content_types=["text/html"], max_record_bytes="2kB"))
    assert [row["url"] for row in rows(run)] == ["http://site.example/0"]
    assert reasons(run) == {
        "content type": 1,
        "record of type metadata": 1,
        "record of type unknown": 1,
        "larger than max_record_bytes": 1,
    }


def test_record_types_and_fields_can_be_selected(tmp_path: Path) -> None:
    path = write(tmp_path / "a.warc", record(1, b"note", kind="resource"))
    stage = WarcReader(path, fields=["content", "content_type"], record_types=["resource"])
    assert rows(read(stage)) == [{"content": b"note", "content_type": "text/plain"}]


def test_decompression_bomb_is_dropped(tmp_path: Path) -> None:
    packed = HTTP.replace(b"\r\n\r\n", b"\r\nContent-Encoding: gzip\r\n\r\n")
    bomb = gzip.compress(b"\0" * 50_000_000)
    records = [record(0, gzip.compress(b"<p>fine"), http=packed), record(1, bomb, http=packed)]
    path = write(tmp_path / "a.warc.gz", zipped(records))
    run = read(WarcReader(path, max_record_bytes="1MiB"))
    assert [row["content"] for row in rows(run)] == [b"<p>fine"]
    assert reasons(run) == {"larger than max_record_bytes": 1}


def test_damage_is_quarantined_with_file_and_offset(tmp_path: Path) -> None:
    first = zipped([record(0, b"a")])
    bad = bytearray(zipped([record(1, b"b" * 100)]))
    bad[60] ^= 0xFF
    path = write(tmp_path / "a.warc.gz", first + bytes(bad) + zipped([record(2, b"c")]))
    run = read(WarcReader(path))
    assert [row["url"][-1] for row in rows(run)] == ["0", "2"]
    [one] = run.report.of(1) and run.report.quarantined
    assert one.where == f"{path} byte {len(first)}"
    assert one.reason.startswith("the compressed data is damaged: ")


def test_wet_reader_reads_texts(tmp_path: Path) -> None:
    pages = [record(0, "Grüße".encode(), kind="conversion"), record(1, b"\xff", kind="conversion")]
    pages.append(record(2, b"x", kind="warcinfo"))
    path = write(tmp_path / "a.warc.wet.gz", zipped(pages))
    run = read(WetReader(path, text_field="body"))
    assert [(row["url"], row["body"]) for row in rows(run)] == [("http://site.example/0", "Grüße")]
    assert reasons(run) == {"record of type warcinfo": 1}
    [bad] = run.report.quarantined
    assert bad.reason == "the text is not UTF-8: 0xff at 0"


def test_split_file_gives_each_page_once(tmp_path: Path) -> None:
    records = [record(n, zlib.adler32(b"%d" % n).to_bytes(4) * 300) for n in range(200)]
    path = write(tmp_path / "a.warc.gz", zipped(records))
    stages = [
        WarcReader(path, fields=["url"], blocksize="3kB"),
        JsonlWriter(str(tmp_path / "out")),
    ]
    result = Pipeline("pages", stages=stages).run(LocalExecutor(workers=0))
    assert result.stages["warc_reader"].tasks_in > 5
    files = (tmp_path / "out").glob("*.jsonl")
    lines = [line for file in files for line in file.read_text().splitlines()]
    assert len(lines) == len(set(lines)) == 200


def test_error_page_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.warc.gz", b"<html>404")
    with pytest.raises(StageError, match=r"a.warc.gz: it starts like HTML or XML"):
        run_stages([WarcReader(path)], [Empty()])


def test_invalid_options_are_problems_of_the_plan(tmp_path: Path) -> None:
    path = write(tmp_path / "a.warc.gz", zipped([record(0, b"a")]))
    reader = WarcReader(path, fields=["ulr"], record_types=["respons"], max_record_bytes="huge")
    with pytest.raises(PipelineError) as caught:
        Pipeline("pages", stages=[reader, JsonlWriter(str(tmp_path / "out"))]).build()
    message = str(caught.value)
    assert "no record type 'respons' (did you mean response?)" in message
    assert "max_record_bytes is 'huge', but must be a size such as 16MiB" in message
    assert "a.warc.gz has no field 'ulr' (did you mean url?)" in message
