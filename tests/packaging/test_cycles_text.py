"""No module of text, dedup or models imports itself, not even through others.

Imports in functions and under TYPE_CHECKING count too.
"""

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

PACKAGES = Path(__file__).parents[2] / "packages"


def module_name(path: Path, folder: Path) -> str:
    parts = path.relative_to(folder.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_names(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def find_cycle(folder: Path) -> list[str]:
    """Return the modules of one import cycle in a package; an empty list if there is none."""
    modules = {module_name(path, folder): path for path in folder.rglob("*.py")}
    graph = {}
    for module, path in modules.items():
        names = imported_names(path)
        targets = (name if name in modules else name.rpartition(".")[0] for name in names)
        graph[module] = {target for target in targets if target in modules}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        cycle: list[str] = error.args[1]
        return cycle
    return []


@pytest.mark.parametrize("package", ["text", "dedup", "models"])
def test_no_module_is_in_an_import_cycle(package: str) -> None:
    assert find_cycle(PACKAGES / package / "src" / f"curator_{package}") == []


def test_cycles_in_functions_and_for_type_checkers_are_found(tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "a.py").write_text("def f():\n    from shop import b\n")
    (folder / "b.py").write_text("if TYPE_CHECKING:\n    from shop.a import f\n")
    assert set(find_cycle(folder)) == {"shop.a", "shop.b"}
    (folder / "b.py").write_text("")
    assert find_cycle(folder) == []
