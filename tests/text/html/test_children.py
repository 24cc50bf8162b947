import os
import platform
import signal
from pathlib import Path

import pyarrow as pa
import pytest
from curator_core import InputError
from curator_text.html.children import Child, Extracted, Page

pytest.importorskip("resiliparse")

PAGES = [Page(pa.py_buffer(f"<title>{number}</title><p>text".encode())) for number in range(200)]


def children_of_this() -> set[int]:
    found = Path("/proc/self/task").glob("*/children")
    return {int(word) for path in found for word in path.read_text().split()}


@pytest.fixture
def child() -> Child:
    return Child("resiliparse", {}, None, 30.0)


def test_a_process_that_somebody_ends_is_replaced(child: Child) -> None:
    before = children_of_this()
    found = child.extracted(PAGES)
    assert isinstance(next(found), Extracted)
    [process] = children_of_this() - before
    os.kill(process, signal.SIGKILL)
    rest = list(found)
    child.close()
    assert len(rest) == len(PAGES) - 1
    errors = [one for one in rest if isinstance(one, InputError)]
    assert [str(one) for one in errors] == [
        "reading the page ended the process that did it (SIGKILL)"
    ]
    titles = [one.title for one in rest if isinstance(one, Extracted)]
    assert titles == [str(number) for number in range(1, 200) if number != 64]


def test_nothing_is_left_of_it(child: Child) -> None:
    before, files = children_of_this(), set(os.listdir("/proc/self/fd"))
    assert len(list(child.extracted(PAGES[:3]))) == 3
    child.close()
    child.close()
    assert children_of_this() == before
    assert set(os.listdir("/proc/self/fd")) == files


def faults_of(process: int) -> int:
    """How often it asked the system for memory that it did not have."""
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[7])


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other libraries are not told")
def test_the_memory_of_a_page_is_there_for_the_next_one(child: Child) -> None:
    large = Page(pa.py_buffer(b"<p>A line that is text, and <b>long</b> enough.</p>" * 2000))
    before = children_of_this()
    assert len(list(child.extracted([large] * 5))) == 5
    [process] = children_of_this() - before
    known = faults_of(process)
    assert len(list(child.extracted([large] * 20))) == 20
    assert faults_of(process) - known < 20 * 20  # by itself it would be hundreds for each
    child.close()
