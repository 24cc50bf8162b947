"""The registered stages can be imported by name, and the manual lists all of them."""

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import curator_image
import pytest
from curator_image.plugin import curator_stages, curator_workflows

README = Path(__file__).parents[2] / "docs/modalities/image.md"
PLACES = curator_stages() | curator_workflows()


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_registered_stages_are_importable_by_name(place: str) -> None:
    module, _, name = place.partition(":")
    assert name in curator_image.__all__
    assert getattr(curator_image, name) is getattr(import_module(module), name)


def test_the_readme_lists_exactly_these_stages() -> None:
    rows = re.findall(r"^\| (`.*?) \|", README.read_text(), re.MULTILINE)
    listed = {name for row in rows for name in re.findall(r"`([A-Z]\w+)`", row)}
    assert listed == {place.rpartition(":")[2] for place in PLACES.values()}


def test_importing_all_names_loads_no_library() -> None:
    code = "import sys, curator_image, curator_image.plugin; print(*sys.modules)"
    message = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert not {"numpy", "pyarrow", "PIL", "torch"} & set(message.stdout.split())


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'curator_image' has no attribute 'BlurFliter'"):
        curator_image.BlurFliter  # noqa: B018
