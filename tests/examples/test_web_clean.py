"""What was planted in the raw pages is dropped by the rule that is meant for it."""

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import corpus
import pytest
from curator_cli.recipes import load_recipe
from curator_core import LocalExecutor

RECIPE = Path(__file__).parents[2] / "examples" / "web_clean.yaml"
DOCUMENTS = 900

KEPT = {"good page", "exact duplicate", "near duplicate"}
DROPPED_BY = {
    "blocked site": "blocked_domains_filter",
    "other language": "stop_word_language_filter",
    "short page": "word_count_filter",
    "script required": "word_count_filter",
    "repeated lines": "repeated_lines_filter",
    "lorem ipsum": "boiler_plate_string_filter",
    "cookie notice": "boiler_plate_string_filter",
    "navigation": "punctuation_filter",
    "keyword spam": "punctuation_filter",
    "link list": "urls_filter",
    "figures": "numbers_filter",
    "tag cloud": "symbols_to_words_filter",
    "symbol soup": "non_alpha_numeric_filter",
    "codes": "mean_word_length_filter",
    "shouting": "common_english_words_filter",
}


@dataclass
class Cleaned:
    folder: Path

    def rows(self, name: str) -> list[dict[str, str]]:
        files = sorted((self.folder / name).glob("*.jsonl"))
        return [json.loads(line) for path in files for line in path.read_text().splitlines()]


@pytest.fixture(scope="module")
def cleaned(tmp_path_factory: pytest.TempPathFactory) -> Cleaned:
    folder = tmp_path_factory.mktemp("web_clean")
    corpus.make(folder / "raw", DOCUMENTS)
    settings = {
        "input.file_paths": folder / "raw" / "*.jsonl*",
        "output.path": folder / "kept",
        "output.dropped_path": folder / "dropped",
    }
    recipe = load_recipe(RECIPE, [f"{key}={value}" for key, value in settings.items()])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CURATOR_TEXT_ENGINE", "python")  # compiling takes longer than all of this
        recipe.pipeline().run(LocalExecutor(workers=0))
    return Cleaned(folder)


def planted() -> Counter[str]:
    return Counter(one["planted"] for one in corpus.documents(DOCUMENTS))


def test_the_kept_are_exactly_the_pages_worth_keeping(cleaned: Cleaned) -> None:
    kept = Counter(row["planted"] for row in cleaned.rows("kept"))
    assert kept == {kind: number for kind, number in planted().items() if kind in KEPT}


def test_each_kind_of_junk_is_dropped_by_its_own_rule(cleaned: Cleaned) -> None:
    dropped = Counter((row["planted"], row["_dropped_by"]) for row in cleaned.rows("dropped"))
    junk = planted()
    assert dropped == {(kind, rule): junk[kind] for kind, rule in DROPPED_BY.items()}


def test_the_python_example_is_the_recipe() -> None:
    import web_clean
    from curator_core.plan.plan import stage_options

    recipe = load_recipe(RECIPE).pipeline()
    pipeline = web_clean.web_clean("demo/pages/*.jsonl*", "demo/web_clean")
    assert [type(stage) for stage in pipeline.stages] == [type(stage) for stage in recipe.stages]
    assert list(map(stage_options, pipeline.stages)) == list(map(stage_options, recipe.stages))
    assert (pipeline.name, pipeline.description) == (recipe.name, recipe.description)
    assert pipeline.max_failures == recipe.max_failures
