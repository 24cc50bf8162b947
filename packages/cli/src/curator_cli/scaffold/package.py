"""A starter package: a plugin with one stage, and its tests."""

import re
from importlib.metadata import version
from pathlib import Path

from curator_core.errors import PluginError
from curator_core.model.stages import snake_case
from curator_core.plugins.registry import Plugins
from curator_core.plugins.registry import plugins as installed_plugins

from curator_cli.scaffold.files import template, write_new

_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")


def start_package(
    name: str, folder: str | Path | None = None, plugins: Plugins | None = None
) -> list[Path]:
    """Write a package that offers one stage, `<name>.upper`, and passes its tests."""
    _check_name(name, installed_plugins() if plugins is None else plugins)
    distribution = f"curator-{name.replace('_', '-')}"
    package = f"curator_{name}"
    core, next_core = _core_versions(version("curator-core"))
    values = {
        "name": name,
        "package": package,
        "distribution": distribution,
        "core": core,
        "next_core": next_core,
    }
    templates = {
        "pyproject.toml": "pyproject.toml",
        "README.md": "README.md",
        f"src/{package}/__init__.py": "src/__init__.py",
        f"src/{package}/plugin.py": "src/plugin.py",
        f"src/{package}/stages.py": "src/stages.py",
        f"tests/test_{name}.py": "tests/test_stages.py",
    }
    files = {
        file: template(f"plugin/{source}.template", **values) for file, source in templates.items()
    }
    files[f"src/{package}/py.typed"] = ""
    return write_new(Path(folder or distribution), files)


def _check_name(name: str, plugins: Plugins) -> None:
    if not _NAME.fullmatch(name):
        suggested = re.sub(r"[^a-z0-9]+", "_", snake_case(name)).strip("_0123456789")[:40]
        raise PluginError(
            f"{name!r} cannot be a plugin's name: it begins with a letter and has small letters, "
            f"digits and _ only" + (f" (did you mean {suggested}?)" if suggested else "")
        )
    taken = {info.name: info.distribution for info in plugins.working}
    if name in taken:
        raise PluginError(
            f"there is a plugin {name!r} already, of {taken[name]}; choose another name"
        )


def _core_versions(installed: str) -> tuple[str, str]:
    """Return the oldest version of core for a new package, and the first one that may break it."""
    major, minor = (int(part) for part in installed.split(".")[:2])
    return f"{major}.{minor}", f"{major}.{minor + 1}"
