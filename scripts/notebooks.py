"""Run the notebooks of the examples and store what their cells show.

    python scripts/notebooks.py                    # all of them
    python scripts/notebooks.py getting_started    # some

The cells run in this process and in an empty folder, without Jupyter. A cell shows what it prints,
and the value of its last line, as Jupyter would.
"""

import ast
import base64
import contextlib
import io
import json
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any
from unittest.mock import patch

NOTEBOOKS = Path(__file__).resolve().parents[1] / "examples" / "notebooks"

SETTINGS = {"CURATOR_PROGRESS": "0", "CURATOR_DEDUP_ENGINE": "numpy"}
"""Show no progress, and do not spend time on compiling loops."""

Notebook = dict[str, Any]
Output = dict[str, Any]


def read(path: Path) -> Notebook:
    notebook: Notebook = json.loads(path.read_text(encoding="utf-8"))
    return notebook


def write(path: Path, notebook: Notebook) -> None:
    text = json.dumps(notebook, indent=1, ensure_ascii=False)
    path.write_text(f"{text}\n", encoding="utf-8")


def run(notebook: Notebook) -> None:
    """Run all code cells in an empty folder, and replace their outputs."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),
        patch.dict(os.environ, SETTINGS),
    ):
        prefixes = {f"{Path(place)}{os.sep}" for place in (folder, os.path.realpath(folder))}
        for number, cell in enumerate(code, 1):
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                value = _run_cell("".join(cell["source"]), number, namespace)
            outputs = [_stream(printed.getvalue())] if printed.getvalue() else []
            outputs += [] if value is None else [_result(value, number)]
            cell["outputs"] = [_without(prefixes, output) for output in outputs]
            cell["execution_count"] = number


def _run_cell(source: str, number: int, namespace: dict[str, Any]) -> object:
    """Run a cell, and return the value of its last line if that is an expression."""
    file = f"<ipython-input-{number}>"
    tree = ast.parse(source, file)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, file, "exec"), namespace)
    if last is None:
        return None
    return eval(compile(ast.Expression(last.value), file, "eval"), namespace)


def _stream(text: str) -> Output:
    return {"name": "stdout", "output_type": "stream", "text": _lines(text)}


def _result(value: object, number: int) -> Output:
    data = {"text/plain": _lines(re.sub(" at 0x[0-9a-f]+", "", repr(value)))}
    to_html, to_png = (getattr(value, f"_repr_{kind}_", None) for kind in ("html", "png"))
    if html := to_html and to_html():
        data["text/html"] = _lines(html)
    if png := to_png and to_png():
        data["image/png"] = _lines(base64.b64encode(png).decode())
    return {
        "data": data,
        "execution_count": number,
        "metadata": {},
        "output_type": "execute_result",
    }


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def _without(prefixes: set[str], output: Output) -> Output:
    """Return the output with paths relative to the folder in which the notebook ran."""
    text = json.dumps(output)
    for prefix in prefixes:
        text = text.replace(json.dumps(prefix)[1:-1], "")
    cleaned: Output = json.loads(text)
    return cleaned


def main(names: list[str]) -> None:
    for path in [NOTEBOOKS / f"{name}.ipynb" for name in names] or sorted(
        NOTEBOOKS.glob("*.ipynb")
    ):
        notebook = read(path)
        run(notebook)
        write(path, notebook)
        print(path.name)


if __name__ == "__main__":
    main(sys.argv[1:])
