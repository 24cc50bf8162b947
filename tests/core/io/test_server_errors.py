"""Errors of servers that returned no file."""

import re
from typing import Any

import fsspec
import pytest
from curator_core.errors import InputError
from curator_core.io.filesystems import open_input
from curator_core.io.partitioning import FilePartitioning
from fsspec import AbstractFileSystem


class RefusedError(OSError):
    status = 403


class WebServer(AbstractFileSystem):
    """As in fsspec: whatever is wrong, the error says that the file was not found."""

    protocol = "web"

    def _open(self, path: str, *args: Any, **options: Any) -> Any:
        causes = {"gone": ConnectionRefusedError(111, "refused"), "secret": RefusedError()}
        raise FileNotFoundError(path) from causes.get(path)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("web://gone", "web://gone: its server does not answer ([Errno 111] refused); check"),
        ("web://secret", "web://secret: its server answers 403"),
        ("web://none", "web://none: it does not exist (any more)"),
    ],
)
def test_a_server_that_does_not_answer_is_not_reported_as_a_missing_file(
    path: str, message: str
) -> None:
    fsspec.register_implementation("web", WebServer, clobber=True)
    with pytest.raises(InputError, match=re.escape(message)):
        open_input(path)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (RefusedError(), "its server answers 403; not every web server shows"),
        (ValueError("odd"), "ValueError: odd; not every web server shows"),
    ],
)
def test_a_folder_that_a_web_server_does_not_show(
    monkeypatch: pytest.MonkeyPatch, error: Exception, message: str
) -> None:
    listing = FilePartitioning("http://there/films/**")
    monkeypatch.setattr(FilePartitioning, "_first_of", lambda *_: error)
    [problem] = listing.check()
    assert problem.startswith(f"cannot list http://there/films/**: {message}")
    assert problem.endswith("name the files themselves")
