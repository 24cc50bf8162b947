"""Pages in docs/ as a newcomer reads them: each block is run, in order, in one folder."""

import json
import re
from importlib.util import find_spec
from pathlib import Path

import pytest
from curator_core.plugins.registry import plugins
from pagekit import DOCS, REPOSITORY, Block, PageRunner, blocks_of, follow, missing_packages

PROSE = (
    "The harbour was quiet in the early morning, and the boats lay still on the water. A woman "
    "with a basket came down to the quay to see what the night had brought, as she had done on "
    "every day of the last forty years. There was not much to be had: a few herrings, a crab, and "
    "the news that the ferry would be late again because of the fog that lay over the sound."
)
PAGES = {
    str(file.relative_to(DOCS)): found
    for file in sorted(DOCS.glob("**/*.md"))
    if file.parent.name not in ("guides", "modalities")  # test_guides.py, test_readmes.py
    if file.name != "getting_started.md"
    if (found := blocks_of(file.read_text()))
}


def raw_pages_in(folder: Path) -> None:
    """What other pages take for granted: a folder `raw` of pages, some of them there twice."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for name in ("raw", "raw_parquet"):
        (folder / name).mkdir(parents=True)
    texts = [f"Day {number}. {PROSE}" for number in (0, 1, 2, 2)]
    for name, found in (("pages", texts), ("menu", ["Menu"])):
        lines = [json.dumps({"text": text, "url": "https://a.example/"}) for text in found]
        (folder / "raw" / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
    pq.write_table(
        pa.table({"text": texts, "url": texts}), folder / "raw_parquet" / "pages.parquet"
    )


@pytest.mark.parametrize("page", PAGES)
def test_a_page_can_be_followed(page: str, tmp_path: Path) -> None:
    if missing := missing_packages(PAGES[page]):
        pytest.skip(f"needs {', '.join(sorted(missing))}")
    raw_pages_in(tmp_path)
    follow(DOCS / page, tmp_path)


ALL_PAGES = [REPOSITORY / "README.md", *sorted(DOCS.glob("**/*.md"))]
INVENTED = {"text.vowel_filter", "text.wrod_count_filter"}
STAGES = re.compile(r"\b(?:core|text|image|video|audio)\.[a-z]+_[a-z_]+\b")


@pytest.mark.parametrize("page", ALL_PAGES, ids=lambda page: page.stem)
def test_every_stage_that_a_page_names_exists(page: Path) -> None:
    named = set(STAGES.findall(page.read_text()))
    there = {name for name in named if find_spec(f"curator_{name.partition('.')[0]}")}
    assert there - {*plugins().stages, *plugins().workflows, *INVENTED} == set()


def test_every_kind_of_block_is_known() -> None:
    """`sh` is for other machines: test_clusters.py runs it with stand-ins for their programs."""
    kinds = {(page.name, block.language) for page in ALL_PAGES
             for block in blocks_of(page.read_text())}  # fmt: skip
    run_here = ("python", "bash", "yaml", "toml", "text")
    assert {one for one in kinds if one[1] not in run_here} <= {("clusters.md", "sh")}


def test_a_page_that_is_wrong_is_noticed(tmp_path: Path) -> None:
    runner = PageRunner(tmp_path)
    runner.follow(Block("bash", "", "mkdir raw\ncd raw\n"))
    assert runner.folder == tmp_path / "raw"
    runner.follow(Block("bash", "", "echo 3 files in 4.2 s\n"))
    runner.follow(Block("text", "", "3 files   in 17 s\n"))
    with pytest.raises(AssertionError, match="not printed: \\['4'\\]"):
        runner.follow(Block("text", "", "4 files in 4.2 s\n"))
    with pytest.raises(AssertionError, match="not_there"):
        runner.follow(Block("bash", "", "curate run not_there.yaml\n"))
    with pytest.raises(AssertionError, match="name 'y' is not defined"):
        runner.follow(Block("python", "", "print(y)\n"))


def test_every_page_is_in_the_table_of_contents() -> None:
    listed = re.findall(r"[\w/]+\.md", (REPOSITORY / "mkdocs.yml").read_text())
    there = {str(file.relative_to(DOCS)) for file in DOCS.glob("**/*.md")}
    assert (set(listed), len(listed)) == (there, len(there))


OURS = ("core", "text", "dedup", "image", "video", "audio")


def test_there_is_something_to_migrate_to() -> None:
    packages = [pytest.importorskip(f"curator_{name}") for name in OURS]
    rows = re.findall(r"^\| `.*? \| (.*) \|$", (DOCS / "migrating.md").read_text(), re.M)
    named = re.findall(r"`(?:curator_\w+\.)?([A-Z]\w*[a-z]\w*)`", "".join(rows))
    assert len(named) > 40
    missing = {name for name in named if not any(hasattr(one, name) for one in packages)}
    assert missing == set()


def test_every_metric_is_explained() -> None:
    pytest.importorskip("prometheus_client")
    from curator_report.metrics import names

    made = {f"curator_{one.name}{'_total' * (one.kind == 'counter')}"
            for one in (*names.OF_RUNS, *names.OF_STAGES)}  # fmt: skip
    others = {f"curator_{names.TASK_SECONDS}"}
    documented = re.findall(r"`(curator_\w+)`", (DOCS / "monitoring.md").read_text())
    assert (set(documented), len(documented)) == (made | others, len(made | others))


def test_every_error_is_explained() -> None:
    import curator_core.errors as errors

    named = {
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, BaseException) and name[0] != "_"
    } - {"CuratorError", "TaskTimeoutError", "AbortedError"}
    explained = set(re.findall(r"^\| `(\w+)` \|", (DOCS / "troubleshooting.md").read_text(), re.M))
    assert explained == named
    codes = re.findall(
        r"^\| `(\w+)` \| ([\d, ]+) \|", (DOCS / "troubleshooting.md").read_text(), re.M
    )
    for name, code in codes:
        if name != "RunInterrupted":
            assert getattr(errors, name).exit_code == int(code), name
