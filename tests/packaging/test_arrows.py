"""Import arrows: all point at core, none leaves what a package declares, none makes a circle."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
SOURCES = {found.name: found for found in REPOSITORY.glob("packages/**/src/curator_*")}

CORE = {"curator_core"}
MODELS = CORE | {"curator_models"}
# Which of our packages each may import, beside itself.
ARROWS = {
    "curator_core": set[str](),
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
IMPORT_NAMES = {
    "fasttext-predict": "fasttext",
    "pyyaml": "yaml",
    "pillow": "PIL",
    "opencv-python": "cv2",
    "openai-whisper": "whisper",
    "nemo_toolkit": "nemo",
    "pyannote.audio": "pyannote",
}


def statements(tree: ast.AST, *, into_functions: bool) -> Iterator[ast.AST]:
    """Every node, but what stands under `if TYPE_CHECKING`, and on demand what is in functions."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not into_functions:
            continue
        yield node
        yield from statements(node, into_functions=into_functions)


def imported(tree: ast.AST, *, into_functions: bool) -> Iterator[str]:
    """Dotted names that are imported; `from a import b` gives a.b, be b a module or not."""
    for node in statements(tree, into_functions=into_functions):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.module, "relative imports are banned"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def top_level_imports(package: str) -> dict[str, set[str]]:
    """What each file of a package imports, anywhere in it: the first part of the name."""
    return {
        str(path.relative_to(REPOSITORY)): {
            name.partition(".")[0]
            for name in imported(ast.parse(path.read_text()), into_functions=True)
        }
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
    """Modules of one package, and which of them each needs before it can be imported."""
    paths = {
        ".".join(path.relative_to(source.parent).with_suffix("").parts).removesuffix(
            ".__init__"
        ): path
        for path in source.rglob("*.py")
    }
    graph = {}
    for module, path in paths.items():
        names = imported(ast.parse(path.read_text()), into_functions=False)
        targets = {name if name in paths else name.rpartition(".")[0] for name in names}
        # Importing a.b.c runs a and a.b too, unless they are already under way.
        rooms = {room for target in targets for room in ancestors(target) - ancestors(module)}
        graph[module] = ((targets | rooms) & paths.keys()) - {module}
    return graph


def circle(graph: dict[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


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


@pytest.mark.parametrize("package", ARROWS)
def test_no_module_needs_itself(package: str) -> None:
    assert not circle(module_graph(SOURCES[package]))


def write_package(folder: Path, **modules: str) -> Path:
    source = folder / "house"
    for name, code in modules.items():
        path = source / (name.replace("__in__", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(code)
    return source


def test_a_circle_is_found(tmp_path: Path) -> None:
    source = write_package(tmp_path, __init__="", a="import house.b", b="from house.a import x")
    assert set(circle(module_graph(source))) == {"house.a", "house.b"}


def test_a_circle_through_the_front_door_is_found(tmp_path: Path) -> None:
    source = write_package(tmp_path, __init__="from house.a import x", a="from house import y")
    assert set(circle(module_graph(source))) == {"house", "house.a"}


def test_imports_in_functions_and_for_types_make_no_circle(tmp_path: Path) -> None:
    late = "def f():\n    import house.b"
    for_types = "if TYPE_CHECKING:\n    import house.a"
    source = write_package(tmp_path, __init__="from house import a, b", a=late, b=for_types)
    assert not circle(module_graph(source))
