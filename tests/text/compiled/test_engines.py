"""Which engine is used, what it needs, and what is said where it is not there."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from curator_core import DocumentBatch
from curator_core.model.compilation import EngineError
from curator_text import WordCountFilter
from curator_text.compiled import caching
from curator_text.compiled.engines import COMPILED, VARIABLE, is_compiled

BATCH = DocumentBatch.from_pylist([{"text": "a b c"}, {"text": "a"}])


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    caching.kernel_folder.cache_clear()
    yield
    caching.kernel_folder.cache_clear()


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
from curator_core import DocumentBatch
from curator_text import WordCountFilter
batch = DocumentBatch.from_pylist([{"text": "a b c"}, {"text": "a"}])
kept, dropped = WordCountFilter(2).process(batch)
print(kept.num_items, dropped.items, "numba" in sys.modules)
"""


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Those that JUDGE needs; what a test compiles once more it finds here."""
    pytest.importorskip("numba")
    folder = tmp_path_factory.mktemp("kernels")
    said = python(JUDGE, NUMBA_CACHE_DIR=str(folder), **{VARIABLE: "compiled"})
    assert said.split() == ["1", "1", "True"]
    return folder


@pytest.fixture
def unmarked(kernels: Path) -> Path:
    """The same, but as if no rule had been compiled yet."""
    for mark in kernels.rglob("compiled-*"):
        mark.unlink()
    return kernels


def test_the_engine_follows_the_variable(kernels: Path, tmp_path: Path) -> None:
    kept = {"NUMBA_CACHE_DIR": str(kernels)}
    assert python(JUDGE, **kept, **{VARIABLE: "auto"}).split() == ["1", "1", "True"]
    assert python(JUDGE, **kept, **{VARIABLE: "python"}).split() == ["1", "1", "False"]
    few = python(JUDGE, NUMBA_CACHE_DIR=str(tmp_path), **{VARIABLE: "auto"})
    assert few.split() == ["1", "1", "False"], "two documents are not worth compiling for"


def test_python_judges_until_compiling_is_worth_it(unmarked: Path) -> None:
    twice = "from curator_text.compiled import waiting\n" + JUDGE
    twice += "waiting.PATIENCE_S = waiting._patience.spent_s\n"
    twice += "kept, dropped = WordCountFilter(2).process(batch)\n"
    twice += 'print(kept.num_items, dropped.items, "numba" in sys.modules)\n'
    said = python(twice, NUMBA_CACHE_DIR=str(unmarked), **{VARIABLE: "auto"})
    assert said.split() == ["1", "1", "False", "1", "1", "True"]


@pytest.mark.parametrize(("limit", "expected"), [(None, "False"), (1.0, "True")])
def test_a_stage_with_a_time_limit_compiles_before_its_first_call(
    unmarked: Path, limit: float | None, expected: str
) -> None:
    code = "import sys\nfrom curator_core import WorkerInfo\nfrom curator_text import *\n"
    code += f"WordCountFilter(2).with_(timeout_s={limit}).setup(WorkerInfo())\n"
    code += 'print("numba" in sys.modules)'
    said = python(code, NUMBA_CACHE_DIR=str(unmarked), **{VARIABLE: "auto"})
    assert said.strip() == expected


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
    assert python(hidden + JUDGE.replace('"numba" in sys.modules', "1"), **{VARIABLE: "python"})
    said = python(hidden + JUDGE.replace('"numba" in sys.modules', "1"), **{VARIABLE: "python"})
    assert said.split() == ["1", "1", "1"]


def test_every_class_with_a_form_is_named() -> None:
    pytest.importorskip("numba")
    from curator_text.compiled.forms import FORMS

    assert {kind.__name__ for kind in FORMS} | {"C4QualityFilter"} == COMPILED


WARM = """
import logging, sys
logging.basicConfig(level=logging.INFO, format="%(message)s")
from curator_core import WorkerInfo
from curator_text import NumbersFilter
NumbersFilter().setup(WorkerInfo())
"""


def test_processes_that_start_together_compile_once_and_say_so(tmp_path: Path) -> None:
    pytest.importorskip("numba")
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), VARIABLE: "compiled"}
    command = [sys.executable, "-c", WARM]
    started = [
        subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    said = [process.communicate()[1] for process in started]
    assert [process.returncode for process in started] == [0, 0, 0], said
    [told] = [one for one in said if one]
    assert "compiling the rules for text, once for this machine" in told
    kernels = list(tmp_path.rglob("*fill_characters*.nbc"))
    assert len(kernels) == 1
    written = kernels[0].stat().st_mtime_ns
    assert python(WARM, NUMBA_CACHE_DIR=str(tmp_path), **{VARIABLE: "compiled"}) == ""
    assert kernels[0].stat().st_mtime_ns == written


def test_what_is_compiled_already_is_loaded_without_waiting_for_others(tmp_path: Path) -> None:
    pytest.importorskip("numba")
    python(WARM, NUMBA_CACHE_DIR=str(tmp_path), **{VARIABLE: "compiled"})
    holding = "from curator_text.compiled.caching import one_at_a_time\nwith one_at_a_time():\n"
    code = "import subprocess, sys\n" + holding
    code += f"    done = subprocess.run([sys.executable, '-c', {WARM!r}], timeout=60)\n"
    code += "print(done.returncode)"
    assert python(code, NUMBA_CACHE_DIR=str(tmp_path), **{VARIABLE: "compiled"}) == "0\n"


def test_all_that_a_row_needs_is_ready_before_the_first_document(tmp_path: Path) -> None:
    pytest.importorskip("numba")
    head, _ = WARM.strip().rsplit("\n", 1)
    row = "NumbersFilter(0).followed_by([WordCountFilter(10**9), UrlsFilter()])"
    code = f"{head}\nfrom curator_text import *\n{row}.setup(WorkerInfo())"
    python(code, NUMBA_CACHE_DIR=str(tmp_path), **{VARIABLE: "compiled"})
    found = {path.name.split(".")[1].rpartition("-")[0] for path in tmp_path.rglob("*.nbi")}
    assert found == {"fill_characters", "fill_urls", "fill_words", "find_blank"}


def test_a_folder_that_others_can_write_to_is_not_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "open"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "mine"))
    first = caching.kernel_folder()
    assert first.parent == tmp_path / "open"
    first.chmod(0o777)
    caching.kernel_folder.cache_clear()
    assert caching.kernel_folder().parent == tmp_path / "mine"


@pytest.mark.skipif(os.name == "nt" or os.getuid() != 0, reason="only root gives folders away")
def test_a_folder_within_one_of_somebody_else_is_not_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "theirs").mkdir()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "theirs"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "mine"))
    assert caching.kernel_folder().parent == tmp_path / "theirs"
    os.chown(tmp_path / "theirs", 65534, -1)
    caching.kernel_folder.cache_clear()
    assert caching.kernel_folder().parent == tmp_path / "mine"


@pytest.mark.parametrize(("mode", "is_trusted"), [(0o777, False), (0o1777, True)])
def test_a_folder_within_one_that_all_can_write_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int, is_trusted: bool
) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(mode)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "open"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "mine"))
    assert (caching.kernel_folder().parent == tmp_path / "open") == is_trusted


def test_where_nothing_can_be_written_a_temporary_folder_serves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.setenv(name, str(blocked))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert caching.kernel_folder().is_relative_to(tmp_path / f"curator-text-of-{os.getuid()}")


def test_a_rule_is_asked_alike_before_and_after_setup() -> None:
    [kept, dropped] = WordCountFilter(2).process(BATCH)
    assert (kept.num_items, dropped.items) == (1, 1)  # type: ignore[union-attr]
