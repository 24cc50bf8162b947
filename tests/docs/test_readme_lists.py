"""READMEs list what their packages offer, as it is now."""

from pathlib import Path

import pytest
from curator_core.plugins.registry import plugins
from scriptkit import load_script

LISTS = load_script("readme_lists")
FOLDERS = {"core": "core", "text": "text", "dedup": "dedup", "image": "image", "video": "video",
           "audio": "audio"}  # fmt: skip
OPTIONS = {
    "executors/streaming": "curator_streaming.options:StreamingOptions",
    "executors/actor_pool": "curator_actor_pool.options:ActorPoolOptions",
    "executors/ray_data": "curator_ray_data.options:RayDataOptions",
}


def readme(folder: str) -> str:
    return str((LISTS.PACKAGES / folder / "README.md").read_text())


@pytest.mark.parametrize("path", LISTS.READMES, ids=lambda path: path.parent.name)
def test_lists_are_those_of_today(path: Path) -> None:
    text = path.read_text()
    assert LISTS.anew(text) == text, "hatch run generate"
    assert text.count("<!-- list:") == len(LISTS.LIST.findall(text)) == text.count("<!-- end of")


def test_a_list_that_is_behind_is_made_anew() -> None:
    text = readme("core")
    behind = text.replace("| `core.jsonl_writer` |", "| `core.jsonl_wirter` |", 1)
    assert behind != text
    assert LISTS.anew(behind) == text


@pytest.mark.parametrize("plugin", FOLDERS)
def test_packages_have_a_list_of_their_stages(plugin: str) -> None:
    assert ("stages", plugin) in LISTS.lists_in(readme(plugin))


@pytest.mark.parametrize("folder", OPTIONS)
def test_executors_have_a_list_of_their_options(folder: str) -> None:
    assert ("options", OPTIONS[folder]) in LISTS.lists_in(readme(folder))
    [table] = [found[4] for found in LISTS.LIST.finditer(readme(folder))]
    assert all(row.rstrip(" |\n").rpartition("|")[2].strip() for row in table.splitlines()[2:])


def test_every_plugin_with_stages_is_asked_after() -> None:
    assert {name.partition(".")[0] for name in plugins().stages} <= set(FOLDERS)
    ours = {Path(folder).name for folder in OPTIONS}
    assert {name.rpartition(".")[2] for name in plugins().executors} == {"local", *ours}


@pytest.mark.parametrize("plugin", FOLDERS)
def test_every_stage_and_workflow_is_in_the_readme_of_its_package(plugin: str) -> None:
    text = readme(FOLDERS[plugin])
    for catalog in (plugins().stages, plugins().workflows):
        for name in catalog:
            if name.partition(".")[0] == plugin:
                kind = catalog.find(name).place.rpartition(":")[2]
                short = name.partition(".")[2]
                told = (f"`{name}`", f"`{short}`", f"`{kind}`", f"`curate {plugin} {short} ")
                assert any(form in text for form in told), name
