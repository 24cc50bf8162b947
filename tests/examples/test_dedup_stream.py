"""The recipe of examples/dedup lets each document through once, however it is spelt."""

import json
from pathlib import Path

from curator_cli.recipes import load_recipe
from curator_core import LocalExecutor

RECIPE = Path(__file__).parents[2] / "examples" / "dedup" / "stream.yaml"


def test_each_document_is_once_in_the_output(tmp_path: Path) -> None:
    (tmp_path / "raw").mkdir()
    for name, texts in {"a": ("One  page.", "Another."), "b": ("one Page.", "A third.")}.items():
        lines = "".join(json.dumps({"text": text}) + "\n" for text in texts)
        (tmp_path / "raw" / f"{name}.jsonl").write_text(lines)
    settings = {"input.file_paths": tmp_path / "raw", "output.path": tmp_path / "out",
                "steps.bloom_deduplication.capacity": 1000}  # fmt: skip
    recipe = load_recipe(RECIPE, [f"{name}={value}" for name, value in settings.items()])
    recipe.pipeline().run(LocalExecutor(workers=0))
    lines = "".join(file.read_text() for file in (tmp_path / "out").glob("*.jsonl")).splitlines()
    kept = [json.loads(line)["text"].lower() for line in lines]
    assert sorted(" ".join(text.split()) for text in kept) == ["a third.", "another.", "one page."]
