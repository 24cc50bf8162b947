"""Scripts of the repository as modules, so that tests can call their functions."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

SCRIPTS = Path(__file__).parents[2] / "scripts"


def load_script(name: str) -> Any:
    """Return the module of a script in `scripts/`."""
    spec = spec_from_file_location(name, SCRIPTS / f"{name}.py")
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
