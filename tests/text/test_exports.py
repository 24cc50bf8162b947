"""The package lists its stages without importing what they need."""

import curator_text
import pytest
from curator_core.testing import modules_loaded_by


def test_every_exported_name_can_be_imported() -> None:
    missing = [name for name in curator_text.__all__ if not hasattr(curator_text, name)]

    assert missing == []


def test_dir_lists_every_name() -> None:
    assert dir(curator_text) == sorted(curator_text.__all__)


def test_unknown_name_is_refused() -> None:
    with pytest.raises(AttributeError, match="'curator_text' has no attribute 'WrodCount'"):
        curator_text.WrodCount  # noqa: B018 - asking is the point


def test_importing_the_package_loads_nothing_heavy() -> None:
    assert not modules_loaded_by("import curator_text") & {"pyarrow", "numpy", "pandas"}
