"""Errors in a user's code name the user's file and line, in every process."""

import json
import pickle
from typing import Any

import pytest
from curator_core import LocalExecutor, Pipeline, Task, processing_stage
from curator_core.errors import StageError, user_code_location


def parse(text: str) -> Any:
    return json.loads(text)


@processing_stage(name="parsing")
def parsing(task: Task[str]) -> Task[str]:
    return task.with_data(parse(task.data))


def error_in(file: str) -> Exception:
    """Return an error that a function raised, as if `file` defined the function."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(compile("def clean():\n    return [1 / 0 for _ in 'a']\n", file, "exec"), namespace)
    with pytest.raises(ZeroDivisionError) as caught:
        namespace["clean"]()
    caught.value.__traceback__ = caught.tb.tb_next  # without the frame of this test
    return caught.value


@pytest.mark.parametrize(
    ("file", "location"),
    [
        ("/project/rules.py", " (rules.py:2)"),
        ("/tmp/ipykernel_12/345.py", " (notebook cell, line 2, in clean)"),
        ("<ipython-input-3-af>", " (notebook cell, line 2, in clean)"),
    ],
)
def test_the_line_of_a_script_or_a_cell_is_named(file: str, location: str) -> None:
    assert user_code_location(error_in(file)) == location


@pytest.mark.parametrize(
    "file", ["<string>", "pyarrow/table.pxi", "/usr/lib/python3/dist-packages/numpy/core.py"]
)
def test_libraries_are_not_the_users_code(file: str) -> None:
    assert user_code_location(error_in(file)) == ""


@pytest.mark.parametrize("workers", [0, 1])
def test_a_stage_that_fails_shows_its_own_frames_first(workers: int) -> None:
    pipeline = Pipeline("p", stages=[parsing], on_error="fail")
    with pytest.raises(StageError) as caught:
        pipeline.run(LocalExecutor(workers=workers), [Task("no")])
    line = parse.__code__.co_firstlineno + 1
    assert f"(test_errors.py:{line})" in str(caught.value)
    cause = caught.value.__cause__
    assert cause is not None
    if workers:
        assert "in parse" in str(cause)
        assert "curator_core" not in str(cause)
    else:
        assert cause.__traceback__ is not None
        assert cause.__traceback__.tb_frame.f_code.co_name == "parsing"


def test_a_pickled_error_keeps_the_traceback_as_its_cause() -> None:
    error = pickle.loads(pickle.dumps(StageError("failed", stage="s", detail="line 3, in parse")))
    assert (str(error), error.stage) == ("failed", "s")
    assert "line 3, in parse" in str(error.__cause__)
    assert pickle.loads(pickle.dumps(StageError("failed"))).__cause__ is None
