"""Importing the package loads neither torch nor transformers."""

import subprocess
import sys


def test_importing_loads_nothing_heavy() -> None:
    code = (
        "import sys, curator_models.loading, curator_models.batching, curator_models.devices; "
        "print(*sorted({'torch', 'transformers', 'numpy'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
