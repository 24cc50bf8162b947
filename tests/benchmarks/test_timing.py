"""Timing of jobs: what is ours stands there as what pip has installed does."""

from importlib.util import cache_from_source
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def test_ours_has_its_bytecode_as_installed_packages_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("psutil")
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    from measuring import timing

    module = tmp_path / "executors/one/src/curator_one/things.py"
    module.parent.mkdir(parents=True)
    module.write_text("THINGS = 1\n")
    monkeypatch.setattr(timing, "PACKAGES", tmp_path)
    timing.compile_ours.cache_clear()
    timing.compile_ours()
    timing.compile_ours.cache_clear()  # those of the checkout are not made yet
    assert Path(cache_from_source(str(module))).exists()
