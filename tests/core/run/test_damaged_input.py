"""Damage in a file: good records before it are kept, the bad ones named with file and place."""

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from curator_core import LocalExecutor, Pipeline, RunResult
from curator_core.io.readers import JsonlReader, ParquetReader
from curator_core.io.writers import JsonlWriter
from curator_core.model.stages import AnyStage
from jobkit import record_ids, write_records

HERE = LocalExecutor(workers=0)


def pipeline(folder: Path, reader: AnyStage | None = None) -> Pipeline:
    first = reader or JsonlReader(str(folder / "in"))
    return Pipeline("job", stages=[first, JsonlWriter(str(folder / "out"))], max_failures=None)


def damaged_gzip(path: Path, lines: list[bytes]) -> None:
    whole = gzip.compress(b"".join(lines))
    path.write_bytes(whole[:-20])


def damaged_zstd(path: Path, lines: list[bytes]) -> None:
    codec = pa.Codec("zstd")
    halves = [codec.compress(part, asbytes=True) for part in (lines[0], b"".join(lines[1:]))]
    path.write_bytes(halves[0] + halves[1][:-3])


def bad_line(path: Path, lines: list[bytes]) -> None:
    path.write_bytes(lines[0] + b'{"id": 2, "te\n' + lines[1] + lines[2][:-4])


class TestDamage:
    """Good records before the damage are kept; the quarantine names file, place and reason."""

    def damaged(self, folder: Path, name: str, damage: Callable[[Path, list[bytes]], None]) -> Path:
        write_records(folder, 1, 2)
        lines = [
            json.dumps({"id": n, "text": f"{n}" * 3000}).encode() + b"\n" for n in (10, 11, 12)
        ]
        path = folder / "in" / name
        damage(path, lines)
        return path

    @pytest.mark.parametrize(
        ("name", "damage", "where", "reason", "kept"),
        [
            ("x.jsonl.gz", damaged_gzip, " byte ", "the compressed stream ends too early", 2),
            ("x.jsonl.zst", damaged_zstd, " byte ", "the compressed stream ends too early", 1),
            ("x.jsonl", bad_line, " line 2", "not JSON: ", 2),
            ("y.jsonl", bad_line, " line 4", "not JSON: ", 2),
        ],
    )
    def test_lines(
        self,
        name: str,
        damage: Callable[[Path, list[bytes]], None],
        where: str,
        reason: str,
        kept: int,
        tmp_path: Path,
    ) -> None:
        path = self.damaged(tmp_path, name, damage)
        result = pipeline(tmp_path).run(HERE)
        [record] = [r for r in result.quarantined if r.where.startswith(f"{path}{where}")]
        assert record.source == str(path)
        assert record.reason.startswith(reason)
        assert record_ids(tmp_path / "out") == [0, 1, 10, 11][: 2 + kept]
        folder = tmp_path / "out/.curator/job/quarantine"
        lines = [line for file in folder.glob("*.jsonl") for line in file.read_text().splitlines()]
        [on_disk] = [
            record_ for record_ in map(json.loads, lines) if record_["where"] == record.where
        ]
        assert (on_disk["reason"], on_disk["stage"]) == (record.reason, "jsonl_reader")

    def test_nothing_at_all_can_be_read(self, tmp_path: Path) -> None:
        path = self.damaged(tmp_path, "x.jsonl.gz", lambda path, _: path.write_bytes(b"no gzip"))
        [record] = pipeline(tmp_path).run(HERE).quarantined
        assert record.reason.startswith(f"cannot read {path}: ")
        assert record_ids(tmp_path / "out") == [0, 1]

    def parquet(self, folder: Path) -> tuple[Path, RunResult]:
        (folder / "in").mkdir(exist_ok=True)
        good, bad = folder / "in/a.parquet", folder / "in/b.parquet"
        table = pa.table({"id": range(1000), "text": [f"text {n}" * 20 for n in range(1000)]})
        for path in (good, bad):
            pq.write_table(table, path, row_group_size=250, compression="none")
        content = bytearray(bad.read_bytes())
        middle = len(content) // 2
        content[middle - 20_000 : middle] = bytes(20_000)
        bad.write_bytes(content)
        return bad, pipeline(folder, reader=ParquetReader(str(folder / "in"))).run(HERE)

    def test_a_row_group(self, tmp_path: Path) -> None:
        bad, result = self.parquet(tmp_path)
        assert result.quarantined
        assert all(r.where.startswith(f"{bad} row group ") for r in result.quarantined)
        assert all(r.reason.startswith("damaged Parquet: ") for r in result.quarantined)
        lost = sum(record.items for record in result.quarantined)
        assert len(record_ids(tmp_path / "out")) == 2000 - lost
        assert 0 < lost <= 500

    def test_a_parquet_file_that_was_cut_off(self, tmp_path: Path) -> None:
        bad, _ = self.parquet(tmp_path)
        shutil.rmtree(tmp_path / "out")
        bad.write_bytes(bad.read_bytes()[:5000])
        reader = ParquetReader(str(tmp_path / "in"))
        [record] = pipeline(tmp_path, reader=reader).run(HERE).quarantined
        assert record.reason.startswith(f"cannot read {bad}: damaged Parquet: ")
        assert len(record_ids(tmp_path / "out")) == 1000
