"""The choice of the engine, what it needs, and messages if something is missing."""

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


FILTER = """
import sys
from curator_core import DocumentBatch
from curator_text import NumbersFilter
batch = DocumentBatch.from_pylist([{"text": "a b c"}, {"text": "123"}])
kept, dropped = NumbersFilter().process(batch)
print(kept.num_items, dropped.items, "numba" in sys.modules)
"""


def test_python_engine_runs_without_numba_unless_compiled_is_required() -> None:
    assert without_numba(FILTER, "auto").split() == ["1", "1", "False"]
    output = without_numba(FILTER, "compiled")
    for fact in ("CURATOR_TEXT_ENGINE is 'compiled'", "numba", "pip install 'curator-text[fast]'"):
        assert fact in output


def test_unknown_engine_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "compield")
    with pytest.raises(EngineError, match=r"'compield' \(did you mean compiled\?\).*auto, python"):
        is_compiled()


def test_importing_the_package_loads_neither_numba_nor_numpy() -> None:
    code = "import sys, curator_text; print([m for m in ('numba', 'numpy') if m in sys.modules])"
    assert python(code).strip() == "[]"


def test_python_engine_does_not_load_numpy() -> None:
    hidden = "import sys; sys.modules['numpy'] = sys.modules['numba'] = None\n"
    output = python(hidden + FILTER.replace('"numba" in sys.modules', "1"), **{VARIABLE: "python"})
    assert output.split() == ["1", "1", "1"]


def test_subclass_runs_in_python() -> None:
    class Stricter(WordCountFilter):
        def keeps(self, score: float) -> bool:
            return score > 7

    assert WordCountFilter().has_kernel()
    assert not WordCountFilter(words="cjk-aware").has_kernel()
    assert not Stricter().has_kernel()


SET_UP = """
import logging
logging.basicConfig(level=logging.INFO, format="%(message)s")
from curator_core import WorkerInfo
from curator_text import NumbersFilter
NumbersFilter().setup(WorkerInfo())
"""


@dataclass
class ParallelCompilation:
    """Output of three processes that needed the same kernels at once, and the folder of these."""

    folder: Path
    codes: list[int]
    outputs: list[str]


@pytest.fixture(scope="module")
def parallel(tmp_path_factory: pytest.TempPathFactory) -> ParallelCompilation:
    pytest.importorskip("numba")
    folder = tmp_path_factory.mktemp("parallel")
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder), VARIABLE: "compiled"}
    command = [sys.executable, "-c", SET_UP]
    started = [
        subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    outputs = [process.communicate()[1] for process in started]
    return ParallelCompilation(folder, [process.returncode for process in started], outputs)


def test_concurrent_processes_compile_once(parallel: ParallelCompilation) -> None:
    assert parallel.codes == [0, 0, 0], parallel.outputs
    [message] = [one for one in parallel.outputs if one]
    assert "compiling numbers_filter, once for this machine" in message
    kernels = list(parallel.folder.rglob("*fill_characters*.nbc"))
    assert len(kernels) == 1
    written = kernels[0].stat().st_mtime_ns
    assert python(SET_UP, NUMBA_CACHE_DIR=str(parallel.folder), **{VARIABLE: "compiled"}) == ""
    assert kernels[0].stat().st_mtime_ns == written


def test_variable_sets_the_engine(parallel: ParallelCompilation) -> None:
    folder = {"NUMBA_CACHE_DIR": str(parallel.folder)}
    assert python(FILTER, **folder, **{VARIABLE: "compiled"}).split() == ["1", "1", "True"]
    assert python(FILTER, **folder, **{VARIABLE: "auto"}).split() == ["1", "1", "False"]
    assert python(SET_UP + FILTER, **folder, **{VARIABLE: "auto"}).split() == ["1", "1", "True"]
    assert python(SET_UP + FILTER, **folder, **{VARIABLE: "python"}).split() == ["1", "1", "False"]


def test_compiled_kernels_are_loaded_without_a_lock(parallel: ParallelCompilation) -> None:
    holding = "from curator_text.compiled.cache import compile_lock, kernel_folder\n"
    holding += "with compile_lock(kernel_folder()):\n"
    code = "import subprocess, sys\n" + holding
    code += f"    done = subprocess.run([sys.executable, '-c', {SET_UP!r}], timeout=180)\n"
    code += "print(done.returncode)"
    assert python(code, NUMBA_CACHE_DIR=str(parallel.folder), **{VARIABLE: "compiled"}) == "0\n"


def test_rule_compiles_only_its_own_kernel(parallel: ParallelCompilation) -> None:
    found = {path.name.split(".")[1].rpartition("-")[0] for path in parallel.folder.rglob("*.nbi")}
    assert found == {"fill_characters", "find_blank"}


def test_folder_writable_by_others_is_not_trusted(
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
def test_folder_inside_another_users_folder_is_not_trusted(
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
def test_folder_inside_a_world_writable_one(
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


def test_temporary_folder_is_the_last_resort(tmp_path: Path, unwritable: None) -> None:
    folder = cache.kernel_folder()
    assert folder is not None
    assert folder.is_relative_to(tmp_path / f"curator-text-of-{os.getuid()}")


def test_python_engine_runs_without_a_writable_folder_and_warns_once(
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


def test_engine_does_not_change_the_result_before_setup() -> None:
    [kept, dropped] = WordCountFilter(2).process(BATCH)
    assert (kept.num_items, dropped.items) == (1, 1)  # type: ignore[union-attr]
