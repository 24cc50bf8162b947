import os
import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import corpus
import pyarrow.parquet as pq
import pytest
from corpus.archives import make_archives
from cpukit import one_cpu

for module in ("resiliparse", "pycld2", "py3langid"):
    pytest.importorskip(module)

REPOSITORY = Path(__file__).parents[2]
PAGES = 600

DROPPED_BY = {
    "other language": {"language_filter"},
    "keyword spam": {"gopher_repetition_filter"},
    "navigation": {"gopher_repetition_filter"},
    "repeated lines": {"gopher_repetition_filter"},
    "script required": {"gopher_repetition_filter"},
    "short page": {"gopher_repetition_filter"},
    "symbol soup": {"gopher_repetition_filter"},
    "tag cloud": {"gopher_repetition_filter"},
    "codes": {"gopher_quality_filter"},
    "figures": {"gopher_quality_filter"},
    "shouting": {"gopher_quality_filter"},
    "lorem ipsum": {"c4_quality_filter"},
}
"""Of these kinds no page is kept."""

GOOD = {"good page", "exact duplicate", "near duplicate"}


@dataclass
class Shown:
    folder: Path
    text: str

    def rows(self, name: str) -> list[dict[str, str]]:
        rows: list[dict[str, str]] = pq.read_table(self.folder / "output" / name).to_pylist()
        return rows


def run_demo(folder: Path) -> str:
    command = [sys.executable, str(REPOSITORY / "examples" / "demo.py")]
    with one_cpu():
        done = subprocess.run(
            [*command, "--out", folder.name, "--pages", str(PAGES)],
            cwd=folder.parent,
            env={**os.environ, "COLUMNS": "80", "CURATOR_TEXT_ENGINE": "python"},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    folder = tmp_path_factory.mktemp("newcomer") / "demo"
    return Shown(folder, run_demo(folder))


def planted() -> dict[str, str]:
    return {one["url"]: one["planted"] for one in corpus.documents(PAGES)}


def test_planted_duplicates_are_not_among_the_unique_pages(demo: Shown) -> None:
    kinds, texts = planted(), [row["text"] for row in demo.rows("unique")]
    assert len(texts) == len(set(texts))
    kept = Counter(kinds[row["url"]] for row in demo.rows("kept"))
    unique = sum(kinds[row["url"]] in GOOD for row in demo.rows("unique"))
    # Of a page and its copies one stays, whichever comes first; some copies differ in much.
    assert kept["good page"] <= unique <= 1.2 * kept["good page"]
    assert unique < 0.8 * sum(kept[kind] for kind in GOOD)
    assert (demo.folder / "output/unique/.curator/fuzzy_deduplication/duplicates.html").is_file()


def test_every_page_worth_keeping_is_kept_and_hardly_another(demo: Shown) -> None:
    kinds = planted()
    kept = Counter(kinds[row["url"]] for row in demo.rows("kept"))
    there = Counter(kinds.values())
    assert {kind: kept[kind] for kind in GOOD} == {kind: there[kind] for kind in GOOD}
    assert not kept.keys() & DROPPED_BY.keys()
    assert sum(kept[kind] for kind in GOOD) > 0.85 * kept.total()


def test_each_kind_of_junk_is_dropped_by_its_own_rule(demo: Shown) -> None:
    kinds = planted()
    found: dict[str, set[str]] = {}
    for row in demo.rows("dropped"):
        found.setdefault(kinds[row["url"]], set()).add(row["_dropped_by"])
    assert {kind: rules for kind, rules in found.items() if kind in DROPPED_BY} == DROPPED_BY


def test_the_table_says_what_the_files_say(demo: Shown) -> None:
    by_rule = Counter(row["_dropped_by"] for row in demo.rows("dropped"))
    left = PAGES
    for rule, number in by_rule.most_common():
        count, share = numbers(demo, rule)[:2]
        assert count == f"{number:,}"
        assert share == f"{number / PAGES:.1%}"
        left -= number
    assert numbers(demo, "kept") == [f"{left:,}", f"{left / PAGES:.1%}", f"{left:,}"]
    assert len(demo.rows("kept")) == left


def numbers(demo: Shown, rule: str) -> list[str]:
    [line] = re.findall(rf"^{rule} .*$", demo.text, re.MULTILINE)
    return line.split()[1:4]


def test_other_records_and_damage_are_told(demo: Shown) -> None:
    assert "Not pages   600 request, 600 metadata, 30 content type, 1 warcinfo\n" in demo.text
    assert "2 damaged places were set aside, such as crawl-00.warc.gz byte " in demo.text
    assert "the compressed data is damaged" in demo.text


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


def test_too_few_pages_are_refused() -> None:
    command = [sys.executable, str(REPOSITORY / "examples" / "demo.py"), "--pages", "0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=180)
    assert done.returncode == 2
    assert done.stderr.endswith("error: --pages is 0, but must be 100 or more\n")


def test_archives_are_made_once(tmp_path: Path) -> None:
    assert make_archives(tmp_path / "raw", 20)
    before = {path: path.read_bytes() for path in (tmp_path / "raw").iterdir()}
    assert not make_archives(tmp_path / "raw", 20)
    assert make_archives(tmp_path / "raw", 21)
    assert make_archives(tmp_path / "raw", 20)
    assert {path: path.read_bytes() for path in (tmp_path / "raw").iterdir()} == before


def test_where_there_is_no_model_of_languages_stop_words_tell() -> None:
    import demo
    from curator_text import LanguageFilter, StopWordLanguageFilter

    there = LanguageFilter(languages=["en"])
    assert demo._with_what_is_here(there) is there
    found = demo._with_what_is_here(LanguageFilter(languages=["en"], model="no-such.ftz"))
    assert isinstance(found, StopWordLanguageFilter)
    assert found.name == "language_filter"
