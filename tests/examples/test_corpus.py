import gzip
import hashlib
import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import corpus
import pytest


def lines_of(path: Path) -> list[bytes]:
    raw = path.read_bytes()
    return (gzip.decompress(raw) if path.suffix == ".gz" else raw).splitlines()


def files_in(folder: Path) -> dict[str, list[bytes]]:
    return {path.name: lines_of(path) for path in sorted(folder.glob("*.jsonl*"))}


def parses(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def test_the_documents_are_the_same_on_every_machine() -> None:
    listed = json.dumps(list(corpus.documents(500)), ensure_ascii=False, sort_keys=True)
    digest = hashlib.sha256(listed.encode()).hexdigest()
    assert digest[:16] == "e03a7a2e66e723f5", (
        "another corpus needs another EDITION, and this digest"
    )


def test_another_seed_gives_other_documents() -> None:
    first, second = (next(iter(corpus.documents(1, seed))) for seed in (1, 2))
    assert first["text"] != second["text"]


def test_every_kind_is_there_in_its_share() -> None:
    counts = Counter(one["planted"] for one in corpus.documents(4000))
    assert counts.keys() == corpus.SHARES.keys()
    for kind, percent in corpus.SHARES.items():
        assert counts[kind] / 40 == pytest.approx(percent, abs=2)


def test_exact_duplicates_repeat_a_page_that_came_before() -> None:
    seen = set()
    for one in corpus.documents(500):
        if one["planted"] == "exact duplicate":
            assert one["text"] in seen
        if one["planted"] == "near duplicate":
            assert one["text"] not in seen
        seen.add(one["text"])


def test_the_files_hold_every_document_and_some_torn_lines(tmp_path: Path) -> None:
    assert corpus.make(tmp_path / "raw", 240)
    files = files_in(tmp_path / "raw")
    assert len(files) == 12
    assert sum(name.endswith(".gz") for name in files) == 3
    lines = [line for listed in files.values() for line in listed]
    assert sum(map(parses, lines)) == 240
    assert len(lines) == 244


def test_a_corpus_that_is_there_already_is_kept(tmp_path: Path) -> None:
    folder = tmp_path / "raw"
    assert corpus.make(folder, 60)
    before = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    assert not corpus.make(folder, 60)
    assert {path: path.stat().st_mtime_ns for path in folder.iterdir()} == before
    assert corpus.make(folder, 120), "another number of documents is another corpus"


def test_half_a_corpus_is_made_again(tmp_path: Path) -> None:
    folder = tmp_path / "raw"
    corpus.make(folder, 60)
    whole = files_in(folder)
    (folder / "label.json").unlink()
    (folder / "crawl-00.jsonl").write_text("{}\n")
    assert corpus.make(folder, 60)
    assert files_in(folder) == whole


def test_it_takes_less_than_two_seconds(tmp_path: Path) -> None:
    started = time.process_time()
    corpus.make(tmp_path / "raw")
    assert time.process_time() - started < 2


def test_the_command_that_recipes_name_makes_pages_and_warns_of_nothing(tmp_path: Path) -> None:
    made = subprocess.run(
        [sys.executable, "-W", "error", "-m", "corpus.making", str(tmp_path / "pages")],
        cwd=Path(corpus.__file__).parents[1],
        capture_output=True,
        text=True,
    )
    assert (made.returncode, made.stderr) == (0, "")
    assert files_in(tmp_path / "pages")
