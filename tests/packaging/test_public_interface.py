"""The public interface of curator-core: the modules that other packages, examples and docs import.

Versions of curator-core promise these modules. Everything else may change at any time.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
CORE = REPOSITORY / "packages/core/src"

PUBLIC = {
    "curator_core",
    "curator_core.errors",
    "curator_core.logs",
    "curator_core.testing",
    "curator_core.plugins.exports",
    # For executors.
    "curator_core.plan.executor",
    # For stages of every modality.
    "curator_core.model.arrow",
    "curator_core.model.formatting",
    "curator_core.model.hardware",
    "curator_core.model.ids",
    "curator_core.model.optional_dependencies",
    "curator_core.model.rules",
    "curator_core.model.scores",
    "curator_core.model.secrets",
    "curator_core.model.unicode",
    # Files in and out.
    "curator_core.io.compression",
    "curator_core.io.filesystems",
    "curator_core.io.http",
    "curator_core.io.listing",
    "curator_core.io.partitioning",
    "curator_core.io.readers",
    "curator_core.io.record_paths",
    "curator_core.io.shuffle",
    "curator_core.io.statistics",
    "curator_core.io.writers",
}

ALLOWANCES = {
    # Reads the directories of runs that are under way or were killed, and shows them.
    "report": {
        "curator_core.run.commits",
        "curator_core.run.directory",
        "curator_core.run.events",
        "curator_core.run.journal",
        "curator_core.run.locks",
        "curator_core.run.quarantine",
        "curator_core.run.snapshot",
        "curator_core.model.contents",
        "curator_core.model.node_usage",
        "curator_core.model.progress",
        "curator_core.model.snapshot",
        "curator_core.model.usage",
        "curator_core.plan.plan",
        "curator_core.plugins.registry",
        "curator_core.run.observers",
        "curator_core.run.progress_log",
        "curator_core.run.result",
        "curator_core.run.totals",
    },
    # Builds pipelines from recipes, runs them with every option and describes plugins.
    "cli": {
        "curator_core.model.stages",
        "curator_core.run.directory",
        "curator_core.run.snapshot",
        "curator_core.model.policies",
        "curator_core.model.progress",
        "curator_core.model.snapshot",
        "curator_core.pipeline",
        "curator_core.plan.plan",
        "curator_core.plugins.catalog",
        "curator_core.plugins.extras",
        "curator_core.plugins.groups",
        "curator_core.plugins.index",
        "curator_core.plugins.registry",
        "curator_core.plugins.search",
        "curator_core.preview",
        "curator_core.run.input_changes",
        "curator_core.run.progress_log",
        "curator_core.run.worker_logs",
    },
    # Locks and replaces folders that several workflows share, such as an index.
    "dedup": {
        "curator_core.plan.plan",
        "curator_core.plugins.registry",
        "curator_core.run.directory",
        "curator_core.run.locks",
        "curator_core.run.outputs",
    },
    # Share workers, messages and crash reports with the local executor, until they have an
    # interface of their own.
    "executors": {
        "curator_core.execution.telemetry",
        "curator_core.local.ipc",
        "curator_core.local.memory_kills",
        "curator_core.local.pickling",
        "curator_core.local.shared_status",
        "curator_core.local.watchdog",
        "curator_core.model.crash_attribution",
        "curator_core.model.lineage",
        "curator_core.model.node_usage",
        "curator_core.model.policies",
        "curator_core.model.reports",
        "curator_core.model.snapshot",
        "curator_core.model.usage",
        "curator_core.plan.events",
        "curator_core.plan.stop_request",
        "curator_core.run.run",
        "curator_core.run.sources",
        "curator_core.run.store",
    },
    # Measure the kernel itself.
    "benchmarks": {"curator_core.local.executor", "curator_core.run.session"},
}


def is_module(name: str) -> bool:
    path = CORE / name.replace(".", "/")
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


def imported(tree: ast.AST) -> Iterator[str]:
    """Yield the modules of core that are imported, also in functions and for types."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if is_module(name) else str(node.module) for name in inner]
        else:
            continue
        yield from (name for name in names if name.partition(".")[0] == "curator_core")


def users() -> dict[str, list[Path]]:
    """Return the Python files of each user of core."""
    packages = {
        folder.name: sorted(folder.rglob("*.py"))
        for folder in sorted((REPOSITORY / "packages").iterdir())
        if folder.is_dir() and folder.name != "core"
    }
    others = {
        name: sorted((REPOSITORY / name).rglob("*.py")) for name in ("examples", "benchmarks")
    }
    return packages | others


USERS = users()


@pytest.mark.parametrize("user", USERS)
def test_only_public_modules_are_imported(user: str) -> None:
    allowed = PUBLIC | ALLOWANCES.get(user, set())
    wrong = {
        f"{path.relative_to(REPOSITORY)}: {name}"
        for path in USERS[user]
        for name in imported(ast.parse(path.read_text()))
        if name not in allowed
    }
    assert not wrong


def test_docs_show_public_modules_only() -> None:
    pages = [*REPOSITORY.glob("*.md"), *REPOSITORY.glob("docs/**/*.md")]
    pages += REPOSITORY.glob("packages/**/README.md")
    wrong = {
        f"{page.relative_to(REPOSITORY)}: {name}"
        for page in pages
        for name in re.findall(r"^\s*(?:from|import) (curator_core[\w.]*)", page.read_text(), re.M)
        if name not in PUBLIC
    }
    assert not wrong


def test_the_reference_shows_exactly_the_public_modules() -> None:
    pages = REPOSITORY.glob("docs/reference/core*.md")
    shown = [name for page in pages for name in re.findall(r"^::: (.+)$", page.read_text(), re.M)]
    assert sorted(shown) == sorted(PUBLIC)


def test_public_modules_exist() -> None:
    assert not {name for name in PUBLIC.union(*ALLOWANCES.values()) if not is_module(name)}


def test_every_allowance_is_used() -> None:
    unused = {
        f"{user}: {name}"
        for user, names in ALLOWANCES.items()
        for name in names
        if not any(name in imported(ast.parse(path.read_text())) for path in USERS[user])
    }
    assert not unused
