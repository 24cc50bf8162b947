"""Pages in docs/ as a newcomer reads them: each block is run, in order, in one folder."""

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml
from cpukit import one_cpu

REPOSITORY = Path(__file__).parents[2]
DOCS = REPOSITORY / "docs"
FENCE = re.compile(r"^```(\w*)(?: title=\"([^\"]+)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROSE = (
    "The harbour was quiet in the early morning, and the boats lay still on the water. A woman "
    "with a basket came down to the quay to see what the night had brought, as she had done on "
    "every day of the last forty years. There was not much to be had: a few herrings, a crab, and "
    "the news that the ferry would be late again because of the fog that lay over the sound."
)
IS_SKIPPED = re.compile(r"^pip install .*$", re.MULTILINE)


@dataclass
class Block:
    language: str
    title: str
    text: str


def blocks_of(text: str) -> list[Block]:
    return [Block(*found) for found in FENCE.findall(text)]


PAGES = {
    str(file.relative_to(DOCS)): found
    for file in sorted(DOCS.glob("**/*.md"))
    if (found := blocks_of(file.read_text()))
}


def desk_in(folder: Path) -> Path:
    """What the pages take for granted: a folder `raw` of pages, some of them there twice."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for name in ("raw", "starter/raw", "raw_parquet"):
        (folder / name).mkdir(parents=True)
    texts = [f"Day {number}. {PROSE}" for number in (0, 1, 2, 2)]
    for name in ("raw", "starter/raw"):
        for file, found in (("pages", texts), ("menu", ["Menu"])):
            lines = [json.dumps({"text": text, "url": "https://a.example/"}) for text in found]
            (folder / name / f"{file}.jsonl").write_text("\n".join(lines) + "\n")
    pq.write_table(
        pa.table({"text": texts, "url": texts}), folder / "raw_parquet" / "pages.parquet"
    )
    return folder


class Desk:
    """Where a page is followed; `cd` in one block holds for the next."""

    def __init__(self, folder: Path) -> None:
        self.folder = desk_in(folder)
        bin_folder = str(Path(sys.executable).parent)
        self._environment = os.environ | {
            "PATH": bin_folder + os.pathsep + os.environ["PATH"],
            "CURATOR_EXECUTOR": "local",
            "PYTHONPATH": ".",
            "PYTHONWARNINGS": "error",
        }

    def follow(self, block: Block) -> None:
        if block.title:
            (self.folder / block.title).write_text(block.text)
        if block.language == "toml":  # settings of the package that the page has made
            [made] = self.folder.glob(f"*/{block.title}")
            assert block.text in made.read_text()
        elif block.language == "python":
            given = [block.title] if block.title else ["-c", block.text]
            self._run([sys.executable, *given], block)
        elif block.language == "bash":
            script = IS_SKIPPED.sub("", block.text) + "\npwd > .where\n"
            script = f"set -euo pipefail\ntrap 'pwd > {self.folder}/.where' EXIT\n{script}"
            self._run(["bash", "-c", script], block)
            self.folder = Path((self.folder / ".where").read_text().strip())
        elif block.language == "yaml":
            assert isinstance(yaml.safe_load(block.text), dict)

    def _run(self, command: list[str], block: Block) -> None:
        with one_cpu():
            done = subprocess.run(
                command, cwd=self.folder, env=self._environment, capture_output=True, text=True
            )
        assert done.returncode == 0, f"{block.text}\n{done.stdout}\n{done.stderr}"


def lacking(blocks: list[Block]) -> set[str]:
    """Packages of ours that a page imports, and that this environment has not."""
    named = set(
        re.findall(r"^(?:from|import) (curator_\w+)", "".join(b.text for b in blocks), re.M)
    )
    needed = {"curator_text", *named, *({"ray"} if "curator_streaming" in named else ())}
    return {name for name in needed - {"curator_vowels"} if find_spec(name) is None}


@pytest.mark.parametrize("page", PAGES)
def test_a_page_can_be_followed(page: str, tmp_path: Path) -> None:
    if missing := lacking(PAGES[page]):
        pytest.skip(f"needs {', '.join(sorted(missing))}")
    desk = Desk(tmp_path)
    for block in PAGES[page]:
        desk.follow(block)


def test_every_kind_of_block_is_known() -> None:
    """`sh` is for other machines: test_clusters.py runs it with stand-ins for their programs."""
    kinds = {(page, block.language) for page, blocks in PAGES.items() for block in blocks}
    run_here = ("python", "bash", "yaml", "toml")
    assert {one for one in kinds if one[1] not in run_here} <= {("clusters.md", "sh")}


def test_a_page_that_is_wrong_is_noticed(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.follow(Block("bash", "", "cd raw\n"))
    assert desk.folder == tmp_path / "raw"
    with pytest.raises(AssertionError, match="not_there"):
        desk.follow(Block("bash", "", "curate run not_there.yaml\n"))
    with pytest.raises(AssertionError, match="name 'y' is not defined"):
        desk.follow(Block("python", "", "print(y)\n"))


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
