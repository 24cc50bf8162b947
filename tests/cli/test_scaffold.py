"""The files that `curate init` writes work without changes."""

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from curator_cli.recipes import load_recipe
from curator_cli.scaffold import start_package, start_recipe
from curator_core.errors import OutputError, PluginError
from curator_core.plugins.registry import Plugins


@pytest.mark.parametrize("with_text", [True, False])
def test_the_recipe_suits_the_installed_packages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, with_text: bool
) -> None:
    plugins = None if with_text else core_only()
    written = start_recipe(tmp_path, plugins)
    assert [path.relative_to(tmp_path).as_posix() for path in written] == [
        "recipe.yaml",
        "data/pages.jsonl",
    ]
    monkeypatch.chdir(tmp_path)
    recipe = load_recipe("recipe.yaml", plugins=plugins)
    recipe.pipeline().build()
    assert recipe.steps[0].stage == ("text.jsonl_reader" if with_text else "core.jsonl_reader")


def core_only() -> Plugins:
    from curator_core import plugin

    plugins = Plugins()
    plugins.register("core", plugin, "curator-core", "0.1.0")
    return plugins


def test_nothing_is_overwritten_and_nothing_written_halfway(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "pages.jsonl").write_text("mine")
    with pytest.raises(OutputError, match=r"pages\.jsonl exists already; nothing was written"):
        start_recipe(tmp_path)
    assert not (tmp_path / "recipe.yaml").exists()
    assert (tmp_path / "data" / "pages.jsonl").read_text() == "mine"


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match=r"cannot write .*recipe\.yaml: "):
        start_recipe(tmp_path / "file")


def test_a_package_is_whole(tmp_path: Path) -> None:
    start_package("big_words", tmp_path)
    project = tomllib.loads((tmp_path / "pyproject.toml").read_text())
    assert project["project"]["name"] == "curator-big-words"
    assert project["project"]["dependencies"] == ["curator-core>=0.1,<0.2"]
    assert project["project"]["entry-points"]["curator_core"] == {
        "big_words": "curator_big_words.plugin"
    }
    for path in tmp_path.rglob("*.py"):
        ast.parse(path.read_text())
        assert "$" not in path.read_text()
    assert (tmp_path / "src/curator_big_words/py.typed").exists()


def test_the_tests_of_a_package_pass(tmp_path: Path) -> None:
    """As if it were installed: its modules and its entry point are on the path."""
    start_package("big_words", tmp_path)
    facts = tmp_path / "src" / "curator_big_words-0.1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: curator-big-words\nVersion: 0.1.0"
    )
    entry = "[curator_core]\nbig_words = curator_big_words.plugin\n"
    (facts / "entry_points.txt").write_text(entry)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    ended = subprocess.run(
        command, cwd=tmp_path, env={"PYTHONPATH": "src"}, capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stdout
    assert "3 passed" in ended.stdout


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("My-Shout", r"'My-Shout' cannot be a plugin's name: .* \(did you mean my_shout\?\)"),
        ("9", r"'9' cannot be a plugin's name: it begins with a letter and has small letters"),
        ("core", "there is a plugin 'core' already, of curator-core; choose another name"),
    ],
)
def test_invalid_names(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(PluginError, match=message):
        start_package(name, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_names_that_no_plugin_can_have_get_one_that_it_can(tmp_path: Path) -> None:
    for name, near in {
        "MyPlugin": "my_plugin",
        "my-plugin": "my_plugin",
        "9 lives": "lives",
    }.items():
        with pytest.raises(PluginError, match=rf"did you mean {near}\?\)$"):
            start_package(name, tmp_path)


def test_a_file_where_the_folder_should_be(tmp_path: Path) -> None:
    (tmp_path / "taken").touch()
    with pytest.raises(OutputError) as caught:
        start_recipe(tmp_path / "taken")
    assert str(caught.value).endswith(f"{tmp_path}/taken is a file; choose another folder")


def test_existing_files_are_reported_briefly(tmp_path: Path) -> None:
    start_package("sample", tmp_path)
    with pytest.raises(OutputError, match=r"__init__\.py and 4 more exist already; nothing was"):
        start_package("sample", tmp_path)
