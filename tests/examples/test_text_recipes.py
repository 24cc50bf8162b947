"""The recipes of examples/text keep and drop what was planted for them."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import corpus
import pyarrow.parquet as pq
import pytest
from corpus.archives import make_archives, records
from corpus.sources import SOURCE_SHARES, make_sources, source_files
from curator_cli.recipes import Permissions, load_recipe
from curator_core import LocalExecutor, RunResult

RECIPES = Path(__file__).parents[2] / "examples" / "text"


def run(name: str, folder: Path, raw: str) -> RunResult:
    settings = {
        "input.file_paths": raw,
        "output.path": folder / "kept",
        "output.dropped_path": folder / "dropped",
    }
    recipe = load_recipe(RECIPES / name, [f"{key}={value}" for key, value in settings.items()])
    return recipe.pipeline().run(LocalExecutor(workers=0))


def rows(folder: Path) -> Iterator[dict[str, Any]]:
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            yield json.loads(line)


def test_sources_are_the_same_each_time_and_of_every_kind() -> None:
    found = list(source_files(400))
    assert found == list(source_files(400))
    assert {one["planted"] for one in found} == set(SOURCE_SHARES)


def test_code_recipe_keeps_good_sources(tmp_path: Path) -> None:
    make_sources(tmp_path / "raw.jsonl", 300)
    run("code.yaml", tmp_path, str(tmp_path / "raw.jsonl"))
    kept, dropped = list(rows(tmp_path / "kept")), list(rows(tmp_path / "dropped"))
    assert len(kept) + len(dropped) == 300
    assert {row["planted"] for row in kept} == {"good source", "somebody's data"}
    causes = {(row["planted"], row["_dropped_by"]) for row in dropped}
    assert causes == {
        ("no comments", "python_comment_to_code_filter"),
        ("only comments", "python_comment_to_code_filter"),
        ("does not parse", "python_comment_to_code_filter"),
        ("too short", "number_of_lines_of_code_filter"),
        ("table of numbers", "alpha_filter"),
        ("XML by another name", "xml_header_filter"),
    }
    redacted = [row["text"] for row in kept if row["planted"] == "somebody's data"]
    assert all(text.startswith("# Written by <EMAIL>, who runs it on <IP>.") for text in redacted)


def test_gopher_c4_fineweb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CURATOR_TEXT_ENGINE", "python")  # compiling takes longer than all of this
    corpus.make(tmp_path / "raw", 200)
    run("gopher_c4_fineweb.yaml", tmp_path, str(tmp_path / "raw" / "*.jsonl*"))
    kept, dropped = list(rows(tmp_path / "kept")), list(rows(tmp_path / "dropped"))
    assert len(kept) + len(dropped) == 200
    stay = Counter(row["planted"] for row in kept)
    junk = ("keyword spam", "symbol soup", "tag cloud", "lorem ipsum", "figures", "shouting")
    assert stay["good page"] > 65
    assert not any(stay[kind] for kind in (*junk, "other language"))
    assert {row["_dropped_because"] for row in dropped if row["planted"] == "lorem ipsum"} == {
        "lorem_ipsum"
    }
    rules = {"gopher_repetition_filter", "gopher_quality_filter", "c4_quality_filter"}
    assert {row["_dropped_by"] for row in dropped} == rules


def test_multilingual(tmp_path: Path) -> None:
    pytest.importorskip("pycld2")
    pytest.importorskip("py3langid")
    corpus.make(tmp_path / "raw", 600)
    run("multilingual.yaml", tmp_path, str(tmp_path / "raw" / "*.jsonl*"))
    kept, dropped = list(rows(tmp_path / "kept")), list(rows(tmp_path / "dropped"))
    assert len(kept) + len(dropped) == 600
    pages = [row for row in kept if row["planted"] == "other language"]
    assert {row["language"] for row in pages} == {"de", "es", "fr"}
    assert {row["script"] for row in pages} == {"Latin"}
    assert {row["language"] for row in kept if row["planted"] == "good page"} == {"en"}
    assert {row["_dropped_by"] for row in dropped} == {"language_filter"}
    assert {row["script"] for row in dropped if row["planted"] == "other language"} == {
        "Cyrillic",
        "Han",
    }


def test_web_quality(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CURATOR_TEXT_ENGINE", "python")  # compiling takes longer than all of this
    for module in ("resiliparse", "pycld2", "py3langid"):
        pytest.importorskip(module)
    make_archives(tmp_path / "raw", 200)
    result = run("web_quality.yaml", tmp_path, str(tmp_path / "raw"))
    assert result.stages["warc_reader"].reasons == {
        "record of type request": 200,
        "record of type metadata": 200,
        "content type": 10,
        "record of type warcinfo": 1,
    }
    kept = pq.read_table(tmp_path / "kept").to_pylist()
    dropped = pq.read_table(tmp_path / "dropped").to_pylist()
    assert len(kept) + len(dropped) == 200
    assert 100 < len(kept) < 160
    planted = {one["url"]: one["planted"] for one in corpus.documents(200)}
    bad = {"keyword spam", "symbol soup", "tag cloud", "lorem ipsum", "other language", "figures"}
    assert not bad & {planted[row["url"]] for row in kept}
    assert not any("Elsewhere" in row["text"] for row in kept)
    foreign = [row for row in dropped if planted[row["url"]] == "other language"]
    assert {row["_dropped_by"] for row in foreign} == {"language_filter"}


def test_an_archive_is_the_same_each_time() -> None:
    assert list(records(30)) == list(records(30))


def test_pretraining_recipe_is_a_whole_curation(tmp_path: Path) -> None:
    pytest.importorskip("curator_dedup")
    make_archives(tmp_path / "raw", 240)
    settings = [f"input.file_paths={tmp_path}/raw/*.warc.gz", f"output.path={tmp_path}/out"]
    permissions = Permissions(allow_python=True)
    recipe = load_recipe(RECIPES / "pretraining.yaml", settings, permissions=permissions)
    assert recipe.curation is not None

    result = recipe.curation.run(LocalExecutor(workers=0))

    table = pq.read_table(tmp_path / "out")
    texts = table["text"].to_pylist()
    assert set(table["split"].to_pylist()) <= {"train", "validation"}
    assert 0 < len(texts) == len(set(texts))
    assert result.metadata["2-fuzzy"]["documents"] >= len(texts)
    lines = (RECIPES / "pretraining.yaml").read_text().partition("\nname:")[2].splitlines()
    assert len(lines) <= 25
