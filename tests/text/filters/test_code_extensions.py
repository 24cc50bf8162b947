from pathlib import Path

import pytest
from curator_text import PerExtensionFilter

TABLE = """language,extension,Include,Long_line_threshold,Alphanum_threshold,Alpha filter
python,py,1,50,0.25,0.25
python,ipynb,0,,,
c-sharp,cs,1,,,0.5
python,,1,,,
"""


@pytest.fixture
def table(tmp_path: Path) -> str:
    path = tmp_path / "limits.csv"
    path.write_text(TABLE)
    return str(path)


@pytest.mark.parametrize(
    ("lang", "extension", "text", "stays"),
    [
        ("Python", "py", "print(one)\n", True),
        ("Python", "py", "x" * 51, False),
        ("Python", "py", "((((((((((a\n", False),
        ("Python", "py", "0000000001\n", False),
        ("Python", "ipynb", "print(one)\n", False),
        ("Python", "pyx", "print(one)\n", False),
        ("Python", "", "((((", True),
        ("C#", "cs", "ab12", True),
        ("C#", "cs", "a123", False),
    ],
)
def test_limits_by_extension(table: str, lang: str, extension: str, text: str, stays: bool) -> None:
    assert PerExtensionFilter(lang, extension, table).passes(text) is stays


def test_mean_line_length_is_limited(tmp_path: Path) -> None:
    path = tmp_path / "limits.csv"
    path.write_text(TABLE.replace("py,1,50", "py,1,1000"))
    rule = PerExtensionFilter("Python", "py", str(path))
    assert rule.passes("a" * 100)
    assert not rule.passes("a" * 101)


def test_invalid_options_are_problems_of_the_plan(table: str, tmp_path: Path) -> None:
    [problem] = PerExtensionFilter("Pyhton", "py", table).check()
    assert problem.endswith("no limits for language 'pyhton' (did you mean python?)")
    [problem] = PerExtensionFilter("Python", "py", "no.csv").check()
    assert problem.startswith("the table no.csv cannot be read: ")
    other = tmp_path / "other.csv"
    other.write_text("language,extension\npython,py\n")
    [problem] = PerExtensionFilter("Python", "py", str(other)).check()
    missing = "Include, Long_line_threshold, Alphanum_threshold, Alpha filter"
    assert problem.endswith(f"has no column {missing}")
