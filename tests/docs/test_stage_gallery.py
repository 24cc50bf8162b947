"""The index of stages is that of the code as it is now."""

import importlib.util
from pathlib import Path
from types import ModuleType

from curator_core.plugins.index import FILE, index_text

SCRIPTS = Path(__file__).parents[2] / "scripts"


def _gallery() -> ModuleType:
    spec = importlib.util.spec_from_file_location("stage_gallery", SCRIPTS / "stage_gallery.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


GALLERY = _gallery()


def test_the_index_is_up_to_date() -> None:
    assert FILE.read_text(encoding="utf-8") == index_text(GALLERY.make_index()), (
        "hatch run generate"
    )
