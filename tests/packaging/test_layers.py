"""The layers of core: a module imports only its own layer and those to the left of it.

Imports in functions and under TYPE_CHECKING count too.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

CORE = Path(__file__).parents[2] / "packages" / "core" / "src" / "curator_core"
ORDER = ("errors", "model", "io", "plugins", "plan", "execution", "run", "local", "facade",
         "testing")  # fmt: skip
LAYERS = {
    "logs": "errors",
    "plugin": "plugins",
    "pipeline": "facade",
    "workflow": "facade",
    "curation": "facade",
    "curation_parts": "facade",
    "preview": "facade",
}
"""Modules and folders that are not called like their layer."""


def module_name(path: Path) -> str:
    parts = path.relative_to(CORE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in CORE.rglob("*.py")}


def layer_of(module: str) -> int:
    first = module.partition(".")[0]
    return ORDER.index(LAYERS.get(first, first))


def imported_by(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            package, _, inner = name.partition(".")
            if package == "curator_core":
                yield inner if inner in MODULES else inner.rpartition(".")[0]


def test_every_module_has_a_layer() -> None:
    unknown = {module for module in MODULES if module and LAYERS.get(
        first := module.partition(".")[0], first) not in ORDER}  # fmt: skip
    assert not unknown


def test_imports_point_to_the_left() -> None:
    wrong = {
        (module, target)
        for module, path in MODULES.items()
        if module  # the front door exports from everywhere
        for target in imported_by(path)
        if not target or layer_of(target) > layer_of(module)
    }
    assert not wrong
