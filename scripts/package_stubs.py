"""Write `__init__.pyi` of each package, from which type checkers and editors know its lazy names.

`hatch run generate` runs this script after `plugin.py` of a package has changed.
"""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from curator_core.plugins.exports import exports_of

PACKAGES = Path(__file__).parents[1] / "packages"
_HEADER = "# Generated from the package's list of public names: run `hatch run generate`.\n"


def stubs() -> Iterator[tuple[Path, str]]:
    """Return each stub file with the text that it should have."""
    for init in sorted(PACKAGES.glob("**/src/curator_*/__init__.py")):
        if "lazy_exports" in init.read_text():
            yield init.with_suffix(".pyi"), _stub(init.parent.name)


def _stub(package: str) -> str:
    top = import_module(package)
    source = top.plugin if hasattr(top, "plugin") else top.EXPORTS
    homes = exports_of(source)
    lines = sorted(f"from {home} import {name} as {name}\n" for name, home in homes.items())
    names = sorted(homes, key=lambda name: (not name.isupper(), not name[0].isupper(), name))
    exported = "".join(f'    "{name}",\n' for name in names)  # the reference is made from it
    return f"{_HEADER}{''.join(lines)}\n__all__ = [\n{exported}]\n"


def main() -> None:
    for path, text in stubs():
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
            print(path.relative_to(PACKAGES))


if __name__ == "__main__":
    main()
