"""Every example is told of, and every recipe is run by a test."""

import re
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
EXAMPLES = REPOSITORY / "examples"


def test_every_example_is_in_the_table() -> None:
    kinds = ("*.yaml", "*.py", "*/*.yaml", "*/*.py", "*/*.ipynb")
    there = {str(file.relative_to(EXAMPLES)) for kind in kinds for file in EXAMPLES.glob(kind)}
    told = re.findall(r"^\| `([\w/.]+)` \|", (EXAMPLES / "README.md").read_text(), re.M)
    assert sorted(set(told) - {"corpus/"}) == sorted(
        name for name in there if not name.startswith("corpus/")
    )
    assert len(told) == len(set(told))


def test_every_recipe_is_named_in_a_test() -> None:
    tests = "".join(file.read_text() for file in (REPOSITORY / "tests").rglob("test_*.py"))
    recipes = [file.name for file in EXAMPLES.rglob("*.yaml")]
    assert [name for name in recipes if f'{name}"' not in tests] == []
