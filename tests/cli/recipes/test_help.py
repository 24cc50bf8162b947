import ast
import inspect
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from curator_cli.app import call
from curator_cli.recipes import load_recipe, recipe_schema
from curator_cli.recipes import options as recipe_options
from curator_cli.recipes.help import stage_help, workflow_help
from curator_core import LocalExecutor
from curator_core.plugins.registry import plugins

FAILURES = [SystemError("depth mismatch"), RecursionError(), OSError("no source"), MemoryError()]


def _clear_caches() -> None:
    for cached in (recipe_options.options_of, recipe_options._texts_under_names):
        cached.cache_clear()
    recipe_options._classes_in.cache_clear()


@contextmanager
def unreadable(error: Exception) -> Iterator[None]:
    """Our code cannot read or parse source code; imports of other libraries can."""

    def failing(function: Callable[..., Any]) -> Callable[..., Any]:
        def called(*given: Any, **options: Any) -> Any:
            if sys._getframe(1).f_globals["__name__"].startswith("curator_"):
                raise error
            return function(*given, **options)

        return called

    _clear_caches()
    with (
        patch.object(ast, "parse", failing(ast.parse)),
        patch.object(inspect, "getsource", failing(inspect.getsource)),
    ):
        yield
    _clear_caches()


class TestWithoutSourceCode:
    def test_a_recipe_is_built_and_run(self, tmp_path: Path) -> None:
        (tmp_path / "in.jsonl").write_text('{"text": "a"}\n')
        text = (
            f"name: demo\ninput: {{stage: core.jsonl_reader, file_paths: {tmp_path}/in.jsonl}}\n"
            f"output: {{stage: core.jsonl_writer, path: {tmp_path}/out}}\n"
        )
        with unreadable(SystemError("depth mismatch")):
            load_recipe(text).pipeline().run(LocalExecutor(workers=0))
        [part] = (tmp_path / "out").glob("part-*")
        assert json.loads(part.read_text()) == {"text": "a"}

    def test_the_command_of_a_workflow_runs(self, tmp_path: Path) -> None:
        (tmp_path / "in.jsonl").write_text('{"text": "a"}\n')
        paths = [f"{tmp_path}/in.jsonl", f"{tmp_path}/out"]
        with unreadable(SystemError("depth mismatch")):
            assert call(["dedup", "exact", *paths, "--workers", "0"]) == 0

    @pytest.mark.parametrize("error", FAILURES, ids=lambda error: type(error).__name__)
    def test_help_only_loses_the_descriptions_of_options(self, error: Exception) -> None:
        with unreadable(error):
            [path] = [o for o in stage_help("core.jsonl_writer").options if o.name == "path"]
            assert (path.type, path.required, path.doc) == ("str", True, "")
            properties = recipe_schema()["$defs"]["core.jsonl_writer"]["properties"]
            assert properties["path"]["type"] == "string"


def test_options_of_a_command_are_explained(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["dedup", "exact", "--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    [option] = [o for o in workflow_help("dedup.exact").options if o.name == "text_field"]
    assert option.doc
    assert option.doc in shown


@pytest.mark.parametrize("name", [name for name in plugins().stages if name.startswith("core.")])
def test_every_option_is_explained(name: str) -> None:
    found = stage_help(name)
    assert found.doc
    assert [option.name for option in found.options if not option.doc] == []
