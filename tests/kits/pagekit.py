"""Follow a page of the documentation: its blocks are saved and run, in order, in one folder.

A `text` block shows output of the block before it, which is compared loosely: times and layout may
differ, and `…` stands for what was left out.
"""

import os
import re
import subprocess
import sys
import tomllib
from collections import Counter
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution, requires
from importlib.util import find_spec
from pathlib import Path

import yaml
from cpukit import one_cpu
from packaging.requirements import Requirement

REPOSITORY = Path(__file__).parents[2]
DOCS = REPOSITORY / "docs"
FENCE = re.compile(r"^```(\w*)(?: title=\"([^\"]+)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INSTALLS = re.compile(r"^ *pip install (.*)$", re.MULTILINE)
EXTRAS = re.compile(r"(curator-[a-z]+)\[([\w,-]+)\]")
QUANTITY = re.compile(r"\b\d[\d.,]*\s(?:s|ms|min|B|kB|MB|GB)\b")
IS_FACT = re.compile(r"[1-9_/]")


@dataclass
class Block:
    language: str
    title: str
    text: str


def blocks_of(text: str) -> list[Block]:
    return [Block(*found) for found in FENCE.findall(text)]


class PageRunner:
    """Run the blocks of a page in a folder; `cd` in one block holds for the next."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.output = ""
        bin_folder = str(Path(sys.executable).parent)
        self._packages = [".", *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
        self._environment = os.environ | {
            "PATH": bin_folder + os.pathsep + os.environ["PATH"],
            "CURATOR_EXECUTOR": "local",
            "COLUMNS": "200",
            "PYTHONWARNINGS": "error",
        }

    def follow(self, block: Block) -> None:
        if block.title:
            (self.folder / block.title).write_text(block.text)
        if block.language == "toml":  # settings of the package that the page has made
            [made] = self.folder.glob(f"*/{block.title}")
            assert block.text in made.read_text()
        elif block.language == "text":
            assert_shown(block.text, self.output)
        elif block.language == "python" and not block.title:
            self._run([sys.executable, "-c", block.text], block)
        elif block.language == "bash":
            self._run_shell(block)
        elif block.language == "yaml":
            assert isinstance(yaml.safe_load(block.text), dict | list)

    def _run_shell(self, block: Block) -> None:
        for installed in INSTALLS.findall(block.text):
            if installed.startswith("-e "):
                self._install_package(installed.removeprefix("-e ").strip("'\"").split("[")[0])
        where = self.folder / ".where"
        script = f"set -euo pipefail\ntrap 'pwd > {where}' EXIT\n{INSTALLS.sub('', block.text)}"
        self._run(["bash", "-c", script], block)
        self.folder = Path(where.read_text().strip())

    def _install_package(self, name: str) -> None:
        """Do what `pip install -e` does, without an environment to change."""
        package = (self.folder / name).resolve()
        project = tomllib.loads((package / "pyproject.toml").read_text())["project"]
        info = package / "src" / f"{package.name.replace('-', '_')}-{project['version']}.dist-info"
        info.mkdir(exist_ok=True)
        facts = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
        (info / "METADATA").write_text(facts)
        lines = [
            f"{key} = {value}" for key, value in project["entry-points"]["curator_core"].items()
        ]
        (info / "entry_points.txt").write_text("\n".join(["[curator_core]", *lines]) + "\n")
        self._packages.append(str(info.parent))

    def _run(self, command: list[str], block: Block) -> None:
        environment = self._environment | {"PYTHONPATH": os.pathsep.join(self._packages)}
        with one_cpu():
            done = subprocess.run(command, cwd=self.folder, env=environment, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # fmt: skip
        self.output = done.stdout
        assert done.returncode == 0, f"{block.text}\n{done.stdout}"


def assert_shown(shown: str, printed: str) -> None:
    """Every number and name must have been printed, and most of the other words."""
    facts, words = words_of(shown)
    all_facts, all_words = words_of(printed)
    assert not facts - all_facts, f"not printed: {sorted(facts - all_facts)}\n{printed}"
    missing = words - all_words
    assert missing.total() <= words.total() / 5, f"not printed: {sorted(missing)}\n{printed}"


def words_of(text: str) -> tuple[Counter[str], Counter[str]]:
    """Numbers and names in a text, and its other words; without times, sizes and cut words."""
    tokens = [token.strip(".,:;'\"()|─━╸╺") for token in QUANTITY.sub(" ", text).split()]
    tokens = [token for token in tokens if token and "…" not in token]
    facts = Counter(token for token in tokens if IS_FACT.search(token))
    return facts, Counter(tokens) - facts


def missing_packages(blocks: list[Block]) -> set[str]:
    """Packages that a page needs, and that this environment does not have."""
    text = "".join(block.text for block in blocks)
    named = set(re.findall(r"^(?:from|import) (curator_\w+)", text, re.M))
    named |= {f"curator_{one}" for one in re.findall(r"stage: (text|image|audio|video)\.", text)}
    named |= {
        f"curator_{one}" for one in re.findall(r"^curate (dedup|image|audio|video) ", text, re.M)
    }
    needed = {"curator_text", *named, *({"ray"} if "curator_streaming" in named else ())}
    missing = {name for name in needed - {"curator_vowels"} if find_spec(name) is None}
    for line in INSTALLS.findall(text):
        for package, extras in EXTRAS.findall(line):
            missing |= missing_for(package, set(extras.split(",")))
    return missing


def missing_for(package: str, extras: set[str]) -> set[str]:
    """The requirements of these extras that are not installed."""
    try:
        listed = [Requirement(line) for line in requires(package) or ()]
    except PackageNotFoundError:
        return {package}
    wanted = [one for one in listed if one.marker
              and any(one.marker.evaluate({"extra": extra}) for extra in extras)]  # fmt: skip
    return {one.name for one in wanted if not is_installed(one.name)}


def is_installed(name: str) -> bool:
    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True


def follow(page: Path, folder: Path) -> None:
    runner = PageRunner(folder)
    for block in blocks_of(page.read_text()):
        runner.follow(block)
