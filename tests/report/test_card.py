"""Dataset cards: the front matter that Hugging Face reads, and the report as Markdown."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml
from curator_core import (
    DocumentBatch,
    JsonlReader,
    JsonlWriter,
    LocalExecutor,
    ParquetWriter,
    Pipeline,
    processing_stage,
)
from curator_core.errors import InputError
from curator_core.model import secrets
from curator_core.model.secrets import remember
from curator_report.card import features_of, render_card, size_category
from reportkit import write_run

MARKUP = "| a *table* ``` of <b>"


@processing_stage(name="long_texts")
def long_texts(task: DocumentBatch) -> object:
    lengths = [len(text) for text in task.data["text"].to_pylist()]
    return task.keep([length >= 20 for length in lengths], reason=MARKUP)


def run(folder: Path, writer: Any, description: str = "") -> str:
    (folder / "in").mkdir()
    for name in "ab":
        rows = [{"text": f"{MARKUP} {n} " * n, "language": "en" if n % 3 else "deu_Latn",
                 "split": "val" if n == 9 else "train"} for n in range(10)]  # fmt: skip
        (folder / f"in/{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    stages = [JsonlReader(str(folder / "in")), long_texts, writer]
    result = Pipeline("trial", description, stages=stages).run(LocalExecutor(workers=0))
    return str(result.run_dir)


def split_card(text: str) -> tuple[dict[str, Any], str]:
    empty, head, body = text.split("---\n", 2)
    assert empty == ""
    return yaml.safe_load(head), body


@pytest.mark.parametrize(("writer", "ending"), [(JsonlWriter, "jsonl"), (ParquetWriter, "parquet")])
def test_the_front_matter_describes_the_files(writer: Any, ending: str, tmp_path: Path) -> None:
    head, _ = split_card(render_card(run(tmp_path, writer(str(tmp_path / "out"))), "CC-BY-4.0"))
    assert (head["pretty_name"], head["license"], head["tags"]) == (
        "trial",
        "cc-by-4.0",
        ["curator"],
    )
    assert head["language"] == ["en", "deu"]
    assert head["size_categories"] == ["n<1K"]
    [config] = head["configs"]
    assert config == {"config_name": "default",
                      "data_files": [{"split": "train", "path": f"*.{ending}"}]}  # fmt: skip
    info = head["dataset_info"]
    assert info["features"] == [
        {"name": name, "dtype": "string"} for name in ("text", "language", "split")
    ]
    [train] = info["splits"]
    assert (train["name"], train["num_examples"]) == ("train", 18)
    assert train["num_bytes"] == info["dataset_size"] > 0
    files = (tmp_path / "out").glob(f"*.{ending}")
    assert info["download_size"] == sum(path.stat().st_size for path in files)


def test_folders_named_like_splits_are_splits(tmp_path: Path) -> None:
    writer = JsonlWriter(str(tmp_path / "out"), partition_by="split")
    head, _ = split_card(render_card(run(tmp_path, writer)))
    assert head["configs"][0]["data_files"] == [
        {"split": "train", "path": "train/*.jsonl"},
        {"split": "validation", "path": "val/*.jsonl"},
    ]
    splits = {one["name"]: one["num_examples"] for one in head["dataset_info"]["splits"]}
    assert splits == {"train": 16, "validation": 2}
    assert "license" not in head


def test_other_folders_are_one_split(tmp_path: Path) -> None:
    writer = JsonlWriter(str(tmp_path / "out"), partition_by="language")
    head, _ = split_card(render_card(run(tmp_path, writer)))
    assert head["configs"][0]["data_files"] == [{"split": "train", "path": "**/*.jsonl"}]
    assert head["dataset_info"]["splits"][0]["num_examples"] == 18


def test_the_text_tells_how_the_data_were_made(tmp_path: Path) -> None:
    _, body = split_card(
        render_card(run(tmp_path, JsonlWriter(str(tmp_path / "out")), "Of trial."))
    )
    assert "# trial\n\nOf trial." in body
    assert "| documents | 20 | 18 |" in body
    assert f"- Input: `{tmp_path / 'in'}`" in body
    [row] = [line for line in body.splitlines() if line.startswith(r"| long\_texts")]
    assert r"\| a \*table\* \`\`\` of \<b\>" in row
    assert "| characters | before |" in body
    assert "| en | " in body
    assert f"````\n{MARKUP} 1" in body, "an example, in a fence longer than those in it"


def test_secrets_are_masked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrets, "_known", {})
    remember("hunter2hunter2", "${secret:KEY}")
    text = render_card(run(tmp_path, JsonlWriter(str(tmp_path / "out")), "hunter2hunter2"))
    secrets._pattern.cache_clear()
    assert "hunter2hunter2" not in text


def test_a_run_without_output_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="wrote no dataset"):
        render_card(write_run(tmp_path / "run", stages=1, events=1))


def test_types_have_the_names_that_datasets_gives_them() -> None:
    point = pa.struct([("x", pa.float64())])
    schema = pa.schema(
        [
            ("name", pa.large_string()),
            ("share", pa.float32()),
            ("tags", pa.list_(pa.string())),
            ("points", pa.list_(point)),
            ("grid", pa.list_(pa.list_(pa.int64()))),
            ("kind", pa.dictionary(pa.int8(), pa.string())),
            ("point", point),
        ]
    )
    x = {"name": "x", "dtype": "float64"}
    assert features_of(schema) == [
        {"name": "name", "dtype": "large_string"},
        {"name": "share", "dtype": "float32"},
        {"name": "tags", "list": "string"},
        {"name": "points", "list": [x]},
        {"name": "grid", "list": {"list": "int64"}},
        {"name": "kind", "dtype": "string"},
        {"name": "point", "struct": [x]},
    ]


@pytest.mark.parametrize(("records", "category"), [
    (0, "n<1K"), (999, "n<1K"), (1000, "1K<n<10K"), (5 * 10**8, "100M<n<1B"), (10**12, "n>1T"),
])  # fmt: skip
def test_sizes_have_the_categories_of_hugging_face(records: int, category: str) -> None:
    assert size_category(records) == category
