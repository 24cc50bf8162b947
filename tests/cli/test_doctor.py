"""`curate doctor`: its checks, and a way out for each problem."""

from pathlib import Path

import pytest
from curator_cli.commands.doctor import cpu_quota, diagnose
from curator_core.plugins.registry import BrokenPlugin, Plugins
from curator_core.testing import modules_loaded_by


def test_everything_is_checked() -> None:
    found = {finding.name: finding for finding in diagnose()}
    assert "curator-core 0.1.0" in found["packages"].message
    assert "core.local" in found["executors"].message
    assert "is writable" in found["temporary folder"].message


def test_a_warning_has_a_way_out() -> None:
    plugins = Plugins()
    plugins.broken.append(BrokenPlugin("odd", "curator-odd", "3.1", "ImportError: no"))
    warnings = [finding for finding in diagnose(plugins) if finding.state == "warn"]
    assert any(
        (w.message, w.way_out)
        == (
            "plugin 'odd' of curator-odd 3.1 is disabled: ImportError: no",
            "fix or uninstall curator-odd",
        )
        for w in warnings
    )
    assert all(warning.way_out for warning in warnings)


def test_an_executor_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CURATOR_EXECUTOR", "cluster")
    [finding] = [f for f in diagnose() if f.name == "runs on"]
    assert finding.state == "warn"
    assert "no executor named 'cluster'" in finding.message
    assert "CURATOR_EXECUTOR" in finding.way_out


def test_a_folder_that_cannot_be_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = tmp_path / "missing"
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(missing))
    [finding] = [f for f in diagnose() if f.name == "temporary folder"]
    assert finding.state == "warn"
    assert finding.message == f"{missing} is not writable: No such file or directory"


@pytest.mark.parametrize(
    ("files", "quota"),
    [
        ({"cpu.max": "150000 100000\n"}, 1.5),
        ({"cpu.max": "max 100000\n"}, None),
        ({"cpu/cpu.cfs_quota_us": "50000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 0.5),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, None),
        ({}, None),
    ],
)
def test_the_quota_of_a_container(
    tmp_path: Path, files: dict[str, str], quota: float | None
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert cpu_quota(str(tmp_path)) == quota


def test_nothing_heavy_is_imported() -> None:
    loaded = modules_loaded_by("from curator_cli.commands.doctor import diagnose; diagnose()")
    assert not loaded & {"ray", "torch", "pandas", "numpy", "pyarrow.dataset"}
