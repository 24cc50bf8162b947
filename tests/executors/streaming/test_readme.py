"""The README's examples run as they are printed."""

from pathlib import Path
from typing import Any

import pytest

EXECUTORS = Path(__file__).parents[3] / "packages" / "executors"
README = EXECUTORS / "streaming" / "README.md"


@pytest.mark.usefixtures("private_ray")
def test_the_open_pipeline(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = README.read_text().split("```python\n")[1:]
    [block] = [text for text in (b.split("```")[0] for b in blocks) if ".open(" in text]

    exec(compile(block, str(README), "exec"), {"__name__": "readme"})

    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "HELLO ()"
    assert printed[1].startswith("5 AttributeError: 'int' object has no attribute 'upper' (")


@pytest.mark.usefixtures("private_ray")
def test_the_example_of_curator_ray_joins_the_running_cluster() -> None:
    readme = EXECUTORS / "ray" / "README.md"
    [block] = [text.split("```")[0] for text in readme.read_text().split("```python\n")[1:]]
    shown: dict[str, Any] = {"__name__": "readme"}

    exec(compile(block, str(readme), "exec"), shown)

    assert shown["connection"].kind == "private", "it did not join the running cluster"
