"""What the README shows of an open pipeline is run as it stands there."""

from pathlib import Path

import pytest

README = Path(__file__).parents[3] / "packages" / "executors" / "streaming" / "README.md"


@pytest.mark.usefixtures("private_ray")
def test_the_open_pipeline_of_the_readme(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = README.read_text().split("```python\n")[1:]
    [block] = [text for text in (b.split("```")[0] for b in blocks) if ".open(" in text]

    exec(compile(block, str(README), "exec"), {"__name__": "readme"})

    said = capsys.readouterr().out.splitlines()
    assert said == ["HELLO ()", "5 AttributeError: 'int' object has no attribute 'upper'"]
