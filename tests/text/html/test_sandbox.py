import os
import platform
import signal
from pathlib import Path

import pyarrow as pa
import pytest
from curator_core import InputError
from curator_text.html.sandbox import Extracted, HtmlPage, Sandbox

pytest.importorskip("resiliparse")

PAGES = [
    HtmlPage(pa.py_buffer(f"<title>{number}</title><p>text".encode())) for number in range(200)
]


def own_children() -> set[int]:
    results = Path("/proc/self/task").glob("*/children")
    return {int(word) for path in results for word in path.read_text().split()}


@pytest.fixture
def sandbox() -> Sandbox:
    return Sandbox("resiliparse", {}, None, 30.0)


def test_killed_process_is_replaced(sandbox: Sandbox) -> None:
    before = own_children()
    results = sandbox.extract(PAGES)
    assert isinstance(next(results), Extracted)
    [process] = own_children() - before
    os.kill(process, signal.SIGKILL)
    rest = list(results)
    sandbox.close()
    assert len(rest) == len(PAGES) - 1
    [error] = [one for one in rest if isinstance(one, InputError)]
    assert "SIGKILL" in str(error)
    titles = [one.title for one in rest if isinstance(one, Extracted)]
    assert titles == [str(number) for number in range(1, 200) if number != 64]


def test_close_leaves_no_process_or_file(sandbox: Sandbox) -> None:
    before, files = own_children(), set(os.listdir("/proc/self/fd"))
    assert len(list(sandbox.extract(PAGES[:3]))) == 3
    sandbox.close()
    sandbox.close()
    assert own_children() == before
    assert set(os.listdir("/proc/self/fd")) == files


def count_page_faults(process: int) -> int:
    """Return how often the process requested memory from the system."""
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[7])


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has this setting")
def test_process_keeps_memory_for_the_next_page(sandbox: Sandbox) -> None:
    large = HtmlPage(pa.py_buffer(b"<p>A line that is text, and <b>long</b> enough.</p>" * 2000))
    before = own_children()
    assert len(list(sandbox.extract([large] * 5))) == 5
    [process] = own_children() - before
    faults_before = count_page_faults(process)
    assert len(list(sandbox.extract([large] * 20))) == 20
    assert (
        count_page_faults(process) - faults_before < 20 * 20
    )  # without the setting it is hundreds per page
    sandbox.close()
