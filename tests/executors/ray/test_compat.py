"""Private names of Ray are in one place, exist in the installed version, and can be missing."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from curator_ray import compat

pytest.importorskip("ray")

EXECUTORS = Path(compat.__file__).parents[3]
PRIVATE = re.compile(
    r"\bray\._|\bray\.core\.|\bray\.autoscaler\b|_raylet\b|_generator_backpressure|__ray_|_conn_str"
    r"|\b_temp_dir\b|\bRAY_[a-z]"
)


def modules() -> Iterator[Path]:
    for package in ("ray", "streaming"):
        yield from (EXECUTORS / package / "src").rglob("*.py")


@pytest.fixture
def untested(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compat, "installed_version", lambda: "9.9.0")


class TestNames:
    @pytest.mark.parametrize("name", compat.PRIVATE_NAMES, ids=lambda name: name.path)
    def test_it_exists_in_the_installed_version(self, name: compat.PrivateName) -> None:
        pytest.importorskip("grpc")
        assert compat.is_tested(name.tested)
        assert name.get() is not None

    @pytest.mark.parametrize("name", compat.PRIVATE_NAMES, ids=lambda name: name.path)
    def test_it_is_not_used_in_an_untested_version(
        self, name: compat.PrivateName, untested: None
    ) -> None:
        assert name.get() is None
        with name.patched(lambda _: pytest.fail("patched")):
            assert name.get() is None

    def test_no_other_module_mentions_private_names(self) -> None:
        found = {
            f"{path.name}: {line.strip()}"
            for path in modules()
            if path.name != "compat.py"
            for line in path.read_text().splitlines()
            if PRIVATE.search(line)
        }
        assert not found


class TestPatched:
    def test_a_method_is_replaced_for_a_while(self) -> None:
        name = compat.KILL_PROCESSES
        original = name.get()
        with name.patched(lambda before: (before, "patched")):
            assert name.get() == (original, "patched")
        assert name.get() is original

    def test_a_name_that_was_removed_from_ray_is_left_alone(self) -> None:
        removed = compat.PrivateName("ray:Nothing.at_all", "", "")
        with removed.patched(lambda _: pytest.fail("patched")):
            assert removed.get() is None


class TestLimitStream:
    def test_a_ray_that_refuses_the_option_gets_a_plain_method(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(**options: Any) -> None:
            raise AssertionError(f"unknown options: {options}")

        monkeypatch.setattr("ray.method", refuse)
        assert compat.limit_stream(4)(len) is len


class TestVersions:
    @pytest.mark.parametrize(
        ("version", "is_tested"),
        [
            ("2.56.0", True),
            ("2.58.1", True),
            ("2.60.0", True),
            ("2.55.1", False),
            ("2.61.0", False),
            ("3.0.0.dev0", False),
            ("", False),
        ],
    )
    def test_the_tested_range(
        self, version: str, is_tested: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(compat, "installed_version", lambda: version)
        assert compat.is_tested() is is_tested

    def test_an_untested_version_is_reported_once(
        self, untested: None, caplog: pytest.LogCaptureFixture
    ) -> None:
        compat.warn_if_untested.cache_clear()
        try:
            compat.warn_if_untested()
            compat.warn_if_untested()
        finally:
            compat.warn_if_untested.cache_clear()
        [record] = caplog.records
        assert "9.9.0" in record.getMessage()
        assert "2.56 to 2.60" in record.getMessage()

    def test_the_installed_package_allows_the_tested_range(self) -> None:
        first, last = compat.TESTED
        requirement = f"ray[client]>={first[0]}.{first[1]},<{last[0]}.{last[1] + 1}"
        assert requirement in (EXECUTORS / "ray" / "pyproject.toml").read_text()


UNTESTED_DRIVER = """
import json
from curator_ray import compat
compat.installed_version = lambda: "9.9.0"
from curator_core import Pipeline, ProcessingStage, Task
from curator_streaming.executor import StreamingExecutor

class Double(ProcessingStage[Task, Task]):
    def process(self, task):
        print("doubling", task.data)
        return task.with_data(task.data * 2)

class Fan(ProcessingStage[Task, Task]):
    def process(self, task):
        if task.data == 6:
            raise ValueError("unlucky")
        yield from (task.with_data(n) for n in range(task.data))

stages = [Double(), Fan().with_(on_error="quarantine")]
result = Pipeline("x", stages=stages).run(
    StreamingExecutor(), [Task(n) for n in range(5)]
)
print(json.dumps([sorted(task.data for task in result), len(result.quarantined)]))
"""


@pytest.mark.parametrize("before", ["", "import ray\n"])
def test_everything_works_in_an_untested_version(script: Any, marked: Any, before: str) -> None:
    driver = script(before + UNTESTED_DRIVER, **marked.variable("untested"))
    output, errors = driver.communicate(timeout=180)
    assert driver.returncode == 0, errors
    expected = sorted(n for size in (0, 2, 4, 8) for n in range(size))
    assert output.splitlines()[-1] == f"[{expected}, 1]"
    assert errors.count("is not tested") == 1
    assert not marked("untested")
