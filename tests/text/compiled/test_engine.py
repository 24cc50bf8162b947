"""Which engine is used, what it needs, and what is said where it is not there."""

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from curator_core import DocumentBatch, WorkerInfo
from curator_core.model.optional_dependencies import EngineError
from curator_text import WordCountFilter
from curator_text.compiled import cache, engine
from curator_text.compiled.engine import VARIABLE, is_compiled

BATCH = DocumentBatch.from_pylist([{"text": "a b c"}, {"text": "a"}])


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    cache.kernel_folder.cache_clear()
    yield
    cache.kernel_folder.cache_clear()


def python(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


def without_numba(code: str, engine: str) -> str:
    hidden = "import sys, importlib.util as u; real = u.find_spec; "
    hidden += "u.find_spec = lambda name, *a: None if name == 'numba' else real(name, *a)\n"
    return python(hidden + code, **{VARIABLE: engine})


JUDGE = """
import sys
from curator_core import DocumentBatch, WorkerInfo
from curator_text import WordCountFilter
batch = DocumentBatch.from_pylist([{"text": "a b c"}, {"text": "a"}])
kept, dropped = WordCountFilter(2).process(batch)
print(kept.num_items, dropped.items, "numba" in sys.modules)
"""


SET_UP = """
from curator_core import WorkerInfo
from curator_text import WordCountFilter
WordCountFilter(2).setup(WorkerInfo())
"""


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Those that JUDGE needs; what a test compiles once more it finds here."""
    pytest.importorskip("numba")
    folder = tmp_path_factory.mktemp("kernels")
    said = python(JUDGE, NUMBA_CACHE_DIR=str(folder), **{VARIABLE: "compiled"})
    assert said.split() == ["1", "1", "True"]
    return folder


def test_the_engine_follows_the_variable(kernels: Path) -> None:
    cached = {"NUMBA_CACHE_DIR": str(kernels)}
    assert python(JUDGE, **cached, **{VARIABLE: "auto"}).split() == ["1", "1", "False"]
    assert python(SET_UP + JUDGE, **cached, **{VARIABLE: "auto"}).split() == ["1", "1", "True"]
    assert python(SET_UP + JUDGE, **cached, **{VARIABLE: "python"}).split() == ["1", "1", "False"]


def test_without_numba_python_judges_unless_the_other_is_demanded() -> None:
    assert without_numba(JUDGE, "auto").split() == ["1", "1", "False"]
    said = without_numba(JUDGE, "compiled")
    assert (
        "CURATOR_TEXT_ENGINE is 'compiled', but numba is not installed; "
        "pip install 'curator-text[fast]', or set it to 'auto'" in said
    )


def test_an_unknown_engine_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "compield")
    with pytest.raises(EngineError) as caught:
        is_compiled()
    assert str(caught.value) == (
        "CURATOR_TEXT_ENGINE is 'compield' (did you mean compiled?); "
        "it must be one of auto, python, compiled"
    )


def test_importing_the_package_wakes_neither_numba_nor_numpy() -> None:
    code = "import sys, curator_text; print([m for m in ('numba', 'numpy') if m in sys.modules])"
    assert python(code).strip() == "[]"


def test_the_pure_path_needs_no_numpy() -> None:
    hidden = "import sys; sys.modules['numpy'] = sys.modules['numba'] = None\n"
    said = python(hidden + JUDGE.replace('"numba" in sys.modules', "1"), **{VARIABLE: "python"})
    assert said.split() == ["1", "1", "1"]


def test_a_subclass_runs_in_python() -> None:
    class Stricter(WordCountFilter):
        def keeps(self, score: float) -> bool:
            return score > 7

    assert WordCountFilter().has_kernel()
    assert not WordCountFilter(words="cjk-aware").has_kernel()
    assert not Stricter().has_kernel()


WARM = """
import logging, sys
logging.basicConfig(level=logging.INFO, format="%(message)s")
from curator_core import WorkerInfo
from curator_text import NumbersFilter
NumbersFilter().setup(WorkerInfo())
"""


@dataclass
class Warmed:
    """What three processes said that needed the same kernels at once, and where these are."""

    folder: Path
    codes: list[int]
    said: list[str]


@pytest.fixture(scope="module")
def warmed(tmp_path_factory: pytest.TempPathFactory) -> Warmed:
    pytest.importorskip("numba")
    folder = tmp_path_factory.mktemp("warmed")
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder), VARIABLE: "compiled"}
    command = [sys.executable, "-c", WARM]
    started = [
        subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    said = [process.communicate()[1] for process in started]
    return Warmed(folder, [process.returncode for process in started], said)


def test_processes_that_start_together_compile_once_and_say_so(warmed: Warmed) -> None:
    assert warmed.codes == [0, 0, 0], warmed.said
    [told] = [one for one in warmed.said if one]
    assert "compiling numbers_filter, once for this machine" in told
    kernels = list(warmed.folder.rglob("*fill_characters*.nbc"))
    assert len(kernels) == 1
    written = kernels[0].stat().st_mtime_ns
    assert python(WARM, NUMBA_CACHE_DIR=str(warmed.folder), **{VARIABLE: "compiled"}) == ""
    assert kernels[0].stat().st_mtime_ns == written


def test_what_is_compiled_already_is_loaded_without_waiting_for_others(warmed: Warmed) -> None:
    holding = "from curator_text.compiled.cache import compile_lock, kernel_folder\n"
    holding += "with compile_lock(kernel_folder()):\n"
    code = "import subprocess, sys\n" + holding
    code += f"    done = subprocess.run([sys.executable, '-c', {WARM!r}], timeout=60)\n"
    code += "print(done.returncode)"
    assert python(code, NUMBA_CACHE_DIR=str(warmed.folder), **{VARIABLE: "compiled"}) == "0\n"


def test_a_rule_compiles_only_what_it_needs(warmed: Warmed) -> None:
    found = {path.name.split(".")[1].rpartition("-")[0] for path in warmed.folder.rglob("*.nbi")}
    assert found == {"fill_characters", "find_blank"}


def test_a_folder_that_others_can_write_to_is_not_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "open"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "mine"))
    first = cache.kernel_folder()
    assert first.parent == tmp_path / "open"
    first.chmod(0o777)
    cache.kernel_folder.cache_clear()
    assert cache.kernel_folder().parent == tmp_path / "mine"


@pytest.mark.skipif(os.name == "nt" or os.getuid() != 0, reason="only root gives folders away")
def test_a_folder_within_one_of_somebody_else_is_not_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "theirs").mkdir()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "theirs"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "mine"))
    assert cache.kernel_folder().parent == tmp_path / "theirs"
    os.chown(tmp_path / "theirs", 65534, -1)
    cache.kernel_folder.cache_clear()
    assert cache.kernel_folder().parent == tmp_path / "mine"


@pytest.mark.parametrize(("mode", "is_trusted"), [(0o777, False), (0o1777, True)])
def test_a_folder_within_one_that_all_can_write_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int, is_trusted: bool
) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(mode)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "open"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "mine"))
    assert (cache.kernel_folder().parent == tmp_path / "open") == is_trusted


@pytest.fixture
def unwritable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.setenv(name, str(blocked))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


def test_the_temporary_folder_serves_where_no_other_is_writable(
    tmp_path: Path, unwritable: None
) -> None:
    folder = cache.kernel_folder()
    assert folder is not None
    assert folder.is_relative_to(tmp_path / f"curator-text-of-{os.getuid()}")


def test_without_a_writable_folder_rules_run_in_python_with_one_warning(
    monkeypatch: pytest.MonkeyPatch,
    unwritable: None,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    pytest.importorskip("numba")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "file"))
    monkeypatch.setattr(engine, "_loaded", set())
    engine._warn_once.cache_clear()
    for _ in range(2):
        WordCountFilter(2).setup(WorkerInfo())
    assert not engine.supports_any([WordCountFilter(2)])
    [warning] = [one for one in caplog.records if "NUMBA_CACHE_DIR" in one.getMessage()]
    assert warning.levelname == "WARNING"


def test_a_rule_is_asked_alike_before_and_after_setup() -> None:
    [kept, dropped] = WordCountFilter(2).process(BATCH)
    assert (kept.num_items, dropped.items) == (1, 1)  # type: ignore[union-attr]
