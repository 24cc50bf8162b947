"""examples/text/classify.yaml, with tiny models instead of downloaded ones."""

import json
from collections.abc import Callable
from pathlib import Path

import tiny_models as made
from curator_cli.recipes import load_recipe
from curator_core import LocalExecutor

RECIPE = Path(__file__).parents[3] / "examples" / "text" / "classify.yaml"


def test_recipe_classifies_and_routes_pages(tiny: Callable[[str], str], tmp_path: Path) -> None:
    words = made.WORDS
    pages = [" ".join(words[(n * k) % len(words)] for k in range(1, 60)) for n in range(1, 30)]
    lines = [json.dumps({"id": n, "text": text}) for n, text in enumerate([*pages, "river"])]
    (tmp_path / "raw.jsonl").write_text("\n".join(lines))
    settings = {
        "input.file_paths": tmp_path / "raw.jsonl",
        "steps.quality_classifier.model": tiny("quality"),
        "steps.fine_web_edu_classifier.model": tiny("score"),
        "output.path": tmp_path / "out",
        "output.dropped_path": tmp_path / "dropped",
    }
    recipe = load_recipe(RECIPE, [f"{key}={value}" for key, value in settings.items()])
    recipe.pipeline().run(LocalExecutor(0))

    def rows(folder: Path) -> list[dict[str, object]]:
        found = [line for path in sorted(folder.glob("*.jsonl"))
                 for line in path.read_text().splitlines()]  # fmt: skip
        return [json.loads(line) for line in found]

    kept = {name: rows(tmp_path / "out" / name) for name in ("low", "medium", "high", "other")}
    dropped = rows(tmp_path / "dropped")
    assert sum(map(len, kept.values())) + len(dropped) == 30
    assert any(kept.values())
    for bucket, listed in kept.items():
        for row in listed:
            assert row["quality_pred"] in ("High", "Medium")
            score = row["fineweb-edu-score-float"]
            assert isinstance(score, float)
            limits = {"low": score < 1.5, "medium": 1.5 <= score < 2.5, "high": score >= 2.5}
            assert limits[bucket]
    reasons = {row["_dropped_because"] for row in dropped}
    assert reasons <= {"label is Low", "fewer than 50 or more than 100,000 words"}
    assert len(reasons) == 2
