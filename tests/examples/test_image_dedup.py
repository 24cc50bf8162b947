"""The recipe for duplicate pictures finds what was planted for it."""

from pathlib import Path

from corpus.shards import write
from curator_cli.recipes import load_recipe
from curator_core import LocalExecutor

RECIPE = Path(__file__).parents[2] / "examples" / "image" / "dedup.yaml"


def test_planted_duplicates_are_found_and_nothing_else(tmp_path: Path) -> None:
    write(tmp_path / "raw", 2, 60)
    settings = [f"options.input_path={tmp_path / 'raw'}", f"options.output_path={tmp_path / 'out'}"]
    chosen = load_recipe(RECIPE, settings).workflow
    assert chosen is not None
    result = chosen.workflow.run(LocalExecutor(workers=0))
    counts = result.metadata
    planted = 120 * 12 // 100
    assert abs(counts["duplicates"] - planted) <= planted // 3
    assert counts["groups"] <= counts["duplicates"]
    assert result.report is not None
    assert "pictures are duplicates" in Path(result.report).read_text()
