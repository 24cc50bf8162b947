"""What the worker processes of a private cluster run: Ray's own script, after fewer imports."""

import runpy
import sys
from importlib import import_module
from pathlib import Path


def main() -> None:
    """Arguments are those of Ray's script."""
    del sys.path[0]  # the folder of this one: its modules are no script's business
    import_module("curator_ray.postponing").import_ray()
    folder = Path(import_module("ray._private").__path__[0], "workers")
    sys.path.insert(0, str(folder))
    runpy.run_path(str(folder / "default_worker.py"), run_name="__main__")


if __name__ == "__main__":
    main()
