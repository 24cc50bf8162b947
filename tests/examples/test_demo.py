import json
import os
import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import corpus
import pytest

REPOSITORY = Path(__file__).parents[2]
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
class Shown:
    folder: Path
    text: str

    def rows(self, name: str) -> list[dict[str, str]]:
        files = sorted((self.folder / "output" / name).glob("*.jsonl"))
        return [json.loads(line) for path in files for line in path.read_text().splitlines()]


def run_demo(folder: Path) -> str:
    command = [sys.executable, str(REPOSITORY / "examples" / "demo.py")]
    done = subprocess.run(
        [*command, "--out", folder.name, "--documents", str(DOCUMENTS)],
        cwd=folder.parent,
        env={**os.environ, "COLUMNS": "80"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    folder = tmp_path_factory.mktemp("newcomer") / "demo"
    return Shown(folder, run_demo(folder))


def planted() -> Counter[str]:
    return Counter(one["planted"] for one in corpus.documents(DOCUMENTS))


def test_the_kept_are_exactly_the_pages_worth_keeping(demo: Shown) -> None:
    kept = Counter(row["planted"] for row in demo.rows("kept"))
    assert kept == {kind: number for kind, number in planted().items() if kind in KEPT}


def test_each_kind_of_junk_is_dropped_by_its_own_rule(demo: Shown) -> None:
    dropped = Counter((row["planted"], row["_dropped_by"]) for row in demo.rows("dropped"))
    junk = planted()
    assert dropped == {(kind, rule): junk[kind] for kind, rule in DROPPED_BY.items()}


def test_the_table_says_what_the_files_say(demo: Shown) -> None:
    by_rule = Counter(row["_dropped_by"] for row in demo.rows("dropped"))
    for rule, number in [*by_rule.items(), ("kept", len(demo.rows("kept")))]:
        [line] = re.findall(rf"^{rule} .*$", demo.text, re.MULTILINE)
        count, share = line.split()[1:3]
        assert count == f"{number:,}"
        assert share == f"{number / DOCUMENTS:.1%}"


def test_torn_lines_are_set_aside(demo: Shown) -> None:
    assert "4 damaged lines were set aside, such as crawl-00.jsonl line " in demo.text
    assert "not JSON" in demo.text


def test_it_says_where_things_are(demo: Shown) -> None:
    places = dict(re.findall(r"^(Kept|Dropped|Set aside|Run) +(\S+)$", demo.text, re.MULTILINE))
    assert len(places) == 4
    for place in places.values():
        assert place.startswith("demo/output/")
        assert (demo.folder.parent / place).is_dir()


def test_it_fits_a_narrow_terminal_and_is_short(demo: Shown) -> None:
    lines = demo.text.splitlines()
    assert max(map(len, lines)) <= 80
    assert len(lines) < 50


def test_git_does_not_see_it(demo: Shown) -> None:
    assert (demo.folder / ".gitignore").read_text() == "*\n"


def test_once_more_gives_the_same_from_the_same_raw_pages(demo: Shown) -> None:
    before = sorted(row["url"] for row in demo.rows("kept"))
    assert "made by an earlier demo" in run_demo(demo.folder)
    assert sorted(row["url"] for row in demo.rows("kept")) == before


def test_the_python_example_is_the_recipe() -> None:
    import web_clean
    from curator_core.plans import stage_options
    from curator_core.recipes import load_recipe

    recipe = load_recipe(REPOSITORY / "examples" / "web_clean.yaml").pipeline()
    pipeline = web_clean.web_clean("demo/raw/*.jsonl*", "demo/output")
    assert [type(stage) for stage in pipeline.stages] == [type(stage) for stage in recipe.stages]
    assert list(map(stage_options, pipeline.stages)) == list(map(stage_options, recipe.stages))
    assert (pipeline.name, pipeline.description) == (recipe.name, recipe.description)
    assert pipeline.max_failures == recipe.max_failures
