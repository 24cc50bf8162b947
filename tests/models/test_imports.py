"""What is needed to name a model, and to say what lacks."""

import subprocess
import sys

import pytest
from curator_models.locating import ModelSource


def test_nothing_heavy_is_imported() -> None:
    code = (
        "import sys, curator_models.loading, curator_models.batching, curator_models.devices; "
        "print(*sorted({'torch', 'transformers', 'numpy'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_what_lacks_is_named_with_the_extra_of_its_modality(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Picture(ModelSource):
        extra = "curator-image[clip]"

    monkeypatch.setattr("curator_core.model.optional_dependencies.find_spec", lambda name: None)
    [problem] = Picture("owner/name").problems()
    assert problem.endswith("are not installed: pip install 'curator-image[clip]'")
