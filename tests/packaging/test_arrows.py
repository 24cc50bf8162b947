"""Import arrows: all point at core, none leaves what a package declares, none makes a cycle.

Imports in functions and under TYPE_CHECKING count.
"""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
SOURCES = {found.name: found for found in REPOSITORY.glob("packages/**/src/curator_*")}

CORE = {"curator_core"}
MODELS = CORE | {"curator_models"}
# Which of our packages each may import, beside itself.
ARROWS = {
    "curator_core": set[str](),
    "curator_report": CORE,
    "curator_cli": CORE | {"curator_report"},
    "curator_models": CORE,
    "curator_text": MODELS,
    "curator_dedup": CORE,
    "curator_image": MODELS | {"curator_dedup"},
    # Pictures of clips are pictures: one module, behind extras, lends the models of curator-image.
    "curator_video": MODELS | {"curator_image"},
    "curator_audio": MODELS | {"curator_dedup"},
    "curator_ray": CORE,
    "curator_streaming": CORE | {"curator_ray"},
    "curator_ray_data": CORE | {"curator_ray"},
    "curator_actor_pool": CORE | {"curator_ray"},
}
FRONT = {"curator_report", "curator_cli", "click"}
"""What commands and report pages of a package may import, too: only the front ends load them."""

FRONT_FILES = re.compile(r"/curator_\w+/(commands\.py|report/|reporting/)")
"""Where they are; one package after the other calls its folder `report`."""

IMPORT_NAMES = {
    "fasttext-predict": "fasttext",
    "pyyaml": "yaml",
    "pillow": "PIL",
    "opencv-python": "cv2",
    "openai-whisper": "whisper",
    "nemo_toolkit": "nemo",
    "pyannote.audio": "pyannote",
}


def imported(tree: ast.AST) -> Iterator[str]:
    """Dotted names that are imported; `from a import b` gives a.b, whether b is a module or not."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.module, "relative imports are banned"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def imported_to_run(tree: ast.AST) -> Iterator[str]:
    """The same, without imports under TYPE_CHECKING, which need not be installed."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from imported(ast.Module([node], []))
        yield from imported_to_run(node)


def top_level_imports(package: str) -> dict[str, set[str]]:
    """The first part of each name that a file imports anywhere, without what it may import."""
    return {
        str(path.relative_to(REPOSITORY)): {
            name.partition(".")[0] for name in imported_to_run(ast.parse(path.read_text()))
        }
        - (FRONT if FRONT_FILES.search(str(path)) else set())
        for path in SOURCES[package].rglob("*.py")
    }


def declared(package: str, *, with_extras: bool = True) -> set[str]:
    """Import names of what a package depends on, extras and our own packages' share included."""
    project = tomllib.loads((SOURCES[package].parents[1] / "pyproject.toml").read_text())["project"]
    extras = project.get("optional-dependencies", {}).values() if with_extras else ()
    found = {package}
    for requirement in [*project["dependencies"], *(line for extra in extras for line in extra)]:
        distribution = re.split(r"[^\w.-]", requirement)[0].lower()
        name = IMPORT_NAMES.get(distribution, distribution.replace("-", "_"))
        found |= declared(name) if name in SOURCES else {name}
    return found


def ancestors(module: str) -> set[str]:
    parts = module.split(".")
    return {".".join(parts[:length]) for length in range(1, len(parts))}


def module_graph(source: Path) -> dict[str, set[str]]:
    """Modules of one package, and which others of them each imports anywhere in its code."""
    paths = {
        ".".join(path.relative_to(source.parent).with_suffix("").parts).removesuffix(
            ".__init__"
        ): path
        for path in source.rglob("*.py")
    }
    graph = {}
    for module, path in paths.items():
        names = imported(ast.parse(path.read_text()))
        targets = {name if name in paths else name.rpartition(".")[0] for name in names}
        # Importing a.b.c runs a and a.b too, unless they are being imported already.
        parents = {parent for target in targets for parent in ancestors(target)}
        graph[module] = ((targets | parents - ancestors(module)) & paths.keys()) - {module}
    return graph


def modules_in_cycles(graph: dict[str, set[str]]) -> set[str]:
    """Modules that import themselves, directly or through others."""
    return {module for module, targets in graph.items() if module in _reached(graph, targets)}


def _reached(graph: dict[str, set[str]], targets: set[str]) -> set[str]:
    reached: set[str] = set()
    waiting = set(targets)
    while waiting:
        module = waiting.pop()
        reached.add(module)
        waiting |= graph[module] - reached
    return reached


def test_every_package_has_its_arrows() -> None:
    assert SOURCES.keys() == ARROWS.keys()


@pytest.mark.parametrize("package", ARROWS)
def test_arrows_point_the_right_way(package: str) -> None:
    ours = SOURCES.keys() - {package} - ARROWS[package]
    wrong = {path: names & ours for path, names in top_level_imports(package).items()}
    assert not {path: names for path, names in wrong.items() if names}


@pytest.mark.parametrize("package", ARROWS)
def test_only_declared_distributions_are_imported(package: str) -> None:
    known = declared(package) | sys.stdlib_module_names
    wrong = {path: names - known for path, names in top_level_imports(package).items()}
    assert not {path: names for path, names in wrong.items() if names}


@pytest.mark.parametrize("package", ARROWS)
def test_core_and_modalities_know_no_engine(package: str) -> None:
    if "curator_ray" not in {package, *ARROWS[package]}:
        assert "ray" not in declared(package)
    if package in {"curator_core", "curator_ray"}:
        assert not declared(package) & {"torch", "pandas"}
    if package in {"curator_dedup", "curator_models"}:  # torch is an extra there
        assert not declared(package, with_extras=False) & {"torch", "pandas"}


STILL_IN_CYCLES = {"curator_text": 29}
"""The most modules in cycles; these numbers may only shrink."""


@pytest.mark.parametrize("package", ARROWS)
def test_no_module_imports_itself_through_others(package: str) -> None:
    found = modules_in_cycles(module_graph(SOURCES[package]))
    assert len(found) <= STILL_IN_CYCLES.get(package, 0), sorted(found)


def write_package(folder: Path, **modules: str) -> Path:
    source = folder / "house"
    for name, code in modules.items():
        path = source / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(code)
    return source


@pytest.mark.parametrize(
    "code",
    [
        "import house.b",
        "from house.b import x",
        "from house import b",
        "def f():\n    import house.b",
        "if TYPE_CHECKING:\n    import house.b",
    ],
)
def test_a_cycle_is_found_wherever_the_import_is(tmp_path: Path, code: str) -> None:
    source = write_package(
        tmp_path, __init__="", a=code, b="from house.a import x", c="import house.a"
    )
    assert modules_in_cycles(module_graph(source)) == {"house.a", "house.b"}


def test_a_cycle_through_the_package_itself_is_found(tmp_path: Path) -> None:
    source = write_package(tmp_path, __init__="from house.a import x", a="from house import y")
    assert modules_in_cycles(module_graph(source)) == {"house", "house.a"}
