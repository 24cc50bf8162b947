"""The notebooks are valid, show real outputs, and all of their cells run."""

import re
from typing import Any

import pytest
from scriptkit import load_script

pytest.importorskip("pandas")
pytest.importorskip("PIL")

CELL = {"cell_type", "id", "metadata", "source"}
FIELDS = {"markdown": CELL, "code": CELL | {"execution_count", "outputs"}}
OUTPUT_FIELDS = {
    "stream": {"output_type", "name", "text"},
    "execute_result": {"output_type", "data", "metadata", "execution_count"},
}
UNWANTED = r"(?<![\w.<])/(tmp|home|root|work|Users)/|Traceback| at 0x|sources? in \S+ s;"
"""Paths of one machine, tracebacks, addresses, and lines of progress."""


SCRIPT_MODULE = load_script("notebooks")
NOTEBOOKS = sorted(SCRIPT_MODULE.NOTEBOOKS.glob("*.ipynb"))


@pytest.fixture(params=NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])
def notebook(request: pytest.FixtureRequest) -> Any:
    return SCRIPT_MODULE.read(request.param)


def test_there_are_three_notebooks() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["deduplication", "getting_started", "images"]


def test_notebooks_have_the_fields_of_the_format(notebook: Any) -> None:
    assert set(notebook) == {"cells", "metadata", "nbformat", "nbformat_minor"}
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    cells = notebook["cells"]
    assert len(cells) < 12
    assert len({cell["id"] for cell in cells}) == len(cells)
    for cell in cells:
        assert set(cell) == FIELDS[cell["cell_type"]]
        assert re.fullmatch(r"[\w-]{1,64}", cell["id"])
        assert_lines(cell["source"])
        for output in cell.get("outputs", ()):
            assert set(output) == OUTPUT_FIELDS[output["output_type"]]
            for text in [output["text"]] if "text" in output else output["data"].values():
                assert_lines(text)


def assert_lines(text: Any) -> None:
    assert isinstance(text, list)
    assert all(line.endswith("\n") for line in text[:-1])
    assert not text or text[-1]


def test_stored_outputs_are_those_of_a_whole_run(notebook: Any) -> None:
    code = code_cells(notebook)
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    for output in (output for cell in code for output in cell["outputs"]):
        texts = output["text"] if "text" in output else output["data"]["text/plain"]
        html = output.get("data", {}).get("text/html", [])
        assert not re.search(UNWANTED, "".join([*texts, *html]))
        assert output.get("name", "stdout") == "stdout"


def test_all_cells_run_and_show_what_is_stored(notebook: Any) -> None:
    stored = shown_kinds(notebook)
    SCRIPT_MODULE.run(notebook)
    assert shown_kinds(notebook) == stored, "renew the outputs: python scripts/notebooks.py"


def code_cells(notebook: Any) -> list[Any]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def shown_kinds(notebook: Any) -> dict[str, list[list[str]]]:
    """Return what kinds of output each cell shows."""
    return {
        cell["id"]: [sorted(output.get("data", ["text"])) for output in cell["outputs"]]
        for cell in code_cells(notebook)
    }
