import os
import subprocess
import sys
from importlib.metadata import Distribution, EntryPoint
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from curator_core.errors import PluginError
from curator_core.plugins.catalog import Catalog, Offer
from curator_core.plugins.extras import find_extra
from curator_core.plugins.hookspecs import hookimpl
from curator_core.plugins.registry import Plugins, plugins


def offering(**kinds: Any) -> SimpleNamespace:
    """A plugin, as `stages={...}, executors={...}`."""
    hooks = {f"curator_{kind}": given for kind, given in kinds.items()}
    return SimpleNamespace(**{name: hookimpl(_returning(given)) for name, given in hooks.items()})


def _returning(given: Any) -> Any:
    return lambda: given


class FakeDistribution(Distribution):
    def __init__(self, name: str, version: str) -> None:
        self._facts = {"Name": name, "Version": version}

    @property
    def metadata(self) -> Any:
        return self._facts

    def read_text(self, filename: str) -> str | None:
        return None

    def locate_file(self, path: Any) -> Any:
        return Path(path)


def entry_point(name: str, module: str, distribution: str, version: str = "1.0") -> EntryPoint:
    made = EntryPoint(name, module, "curator_core")
    made.__dict__["dist"] = FakeDistribution(distribution, version)
    return made


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


GOOD = """
from curator_core.plugins.hookspecs import hookimpl

@hookimpl
def curator_stages():
    return {{"{0}.upper": "{0}_stages:Upper"}}
"""


def test_core_is_a_plugin_like_any_other() -> None:
    found = plugins()
    assert not [broken for broken in found.broken if broken.name == "core"]
    assert found.stages["core.jsonl_reader"].distribution == "curator-core"
    assert "core.local" in found.executors
    assert plugins() is found


def test_all_that_core_offers_is_there() -> None:
    found = plugins()
    for catalog in (found.stages, found.executors):
        for name in catalog:
            if catalog[name].plugin == "core":
                assert catalog.name_of(catalog.load(name)) == name
    assert found.executors.load("local").__name__ == "LocalExecutor"


def test_a_plugin_may_only_use_its_own_names() -> None:
    found = Plugins()
    with pytest.raises(
        PluginError,
        match=r"curator_stages offers 'text.words', but the names of plugin 'audio' are "
        r"'audio' itself and those that begin with 'audio.'",
    ):
        found.register("audio", offering(stages={"text.words": "x:Y"}))
    with pytest.raises(PluginError, match="offers 'audiobook'"):
        found.register("audio", offering(stages={"audiobook": "x:Y"}))
    found.register("audio", offering(stages={"audio": "x:Y", "audio.mono": "x:Z"}))
    assert list(found.stages) == ["audio", "audio.mono"]


def test_a_plugin_is_loaded_completely_or_not_at_all() -> None:
    found = Plugins()
    half = offering(stages={"text.good": "x:Y"}, executors={"other.bad": "x:Z"})
    with pytest.raises(PluginError, match=r"offers 'other.bad'"):
        found.register("text", half)
    assert not found.stages
    assert not found.working
    found.register("text", offering(stages={"text.good": "x:Y"}))
    assert list(found.stages) == ["text.good"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["text.a"], "curator_stages returns a list, but must return a dict"),
        ({"text.a": "no_colon"}, 'a place is "module:attribute"'),
        ({"text.a": print}, 'a place is "module:attribute"'),
        ({"text.a b": "x:Y"}, "which is not a valid name"),
        ({1: "x:Y"}, "offers 1, which is not a valid name"),
    ],
)
def test_what_a_hook_returns_is_checked(given: Any, message: str) -> None:
    with pytest.raises(PluginError, match=message):
        Plugins().register("text", offering(stages=given))


def test_an_unknown_hook_is_refused() -> None:
    with pytest.raises(
        PluginError, match=r"unknown hook 'curator_stage' \(did you mean curator_stages\?\)"
    ):
        Plugins().register("text", SimpleNamespace(curator_stage=hookimpl(_returning({}))))


def test_an_unmarked_hook_is_refused() -> None:
    with pytest.raises(PluginError, match="curator_stages is not marked with @hookimpl"):
        Plugins().register("text", SimpleNamespace(curator_stages=_returning({})))
    with pytest.raises(PluginError, match=r"and it is not a known hook \(did you"):
        Plugins().register("text", SimpleNamespace(curator_stags=_returning({})))


def test_a_broken_plugin_is_disabled_and_the_others_work(folder: Path) -> None:
    (folder / "bad_plugin.py").write_text("raise RuntimeError('no licence')")
    (folder / "leaving_plugin.py").write_text("raise SystemExit(3)")
    (folder / "good_plugin.py").write_text(GOOD.format("good"))
    found = Plugins()
    found.register_entry_points(
        [
            entry_point("bad", "bad_plugin", "acme-bad", "0.3"),
            entry_point("gone", "no_such_module.plugin", "acme-gone"),
            entry_point("leaving", "leaving_plugin", "acme-leaving"),
            entry_point("good", "good_plugin", "acme-good", "2.1"),
        ]
    )
    assert [str(broken) for broken in found.broken] == [
        "plugin 'bad' of acme-bad 0.3 is disabled: RuntimeError: no licence",
        "plugin 'gone' of acme-gone 1.0 is disabled: "
        "ModuleNotFoundError: No module named 'no_such_module'",
        "plugin 'leaving' of acme-leaving 1.0 is disabled: SystemExit: 3",
    ]
    assert found.to_json()["plugins"] == [
        {
            "name": "good",
            "distribution": "acme-good",
            "version": "2.1",
            "offers": {"stages": {"good.upper": "good_stages:Upper"}},
        }
    ]
    assert found.to_json()["broken"][0]["cause"] == "RuntimeError: no licence"


def test_a_name_claimed_twice_is_refused(folder: Path) -> None:
    (folder / "one_plugin.py").write_text(GOOD.format("shout"))
    (folder / "two_plugin.py").write_text(GOOD.format("shout"))
    (folder / "calm_plugin.py").write_text(GOOD.format("calm"))
    found = Plugins()
    found.register_entry_points(
        [
            entry_point("shout", "one_plugin", "acme-shout", "1.0"),
            entry_point("shout", "two_plugin", "rival-shout", "4.2"),
            entry_point("calm", "calm_plugin", "acme-calm"),
        ]
    )
    assert list(found.stages) == ["calm.upper"]
    [first, second] = found.broken
    assert (first.distribution, second.distribution) == ("acme-shout", "rival-shout")
    for broken in (first, second):
        assert broken.cause == (
            "the plugin name 'shout' is claimed by acme-shout 1.0 and rival-shout 4.2; "
            "uninstall all but one of them"
        )


def test_a_distribution_seen_twice_is_not_a_conflict(folder: Path) -> None:
    (folder / "seen_plugin.py").write_text(GOOD.format("seen"))
    found = Plugins()
    found.register_entry_points([entry_point("seen", "seen_plugin", "acme")] * 2)
    assert list(found.stages) == ["seen.upper"]
    assert not found.broken


def test_nested_plugin_names_cannot_take_each_others_stages() -> None:
    found = Plugins()
    found.register("text", offering(stages={"text.extra.upper": "x:Y"}), "curator-text", "1.0")
    with pytest.raises(PluginError, match=r"stage 'text.extra.upper' is taken by curator-text 1.0"):
        found.register("text.extra", offering(stages={"text.extra.upper": "x:Y"}))


def test_a_typo_is_answered_with_the_nearest_name() -> None:
    found = Plugins()
    found.register("text", offering(stages={"text.word_count": "x:Y", "text.upper": "x:Y"}))
    with pytest.raises(
        PluginError, match=r"no stage named 'text.wrod_count' \(did you mean text.word_count\?\)"
    ):
        found.stages.load("text.wrod_count")


def test_a_bare_name_is_answered_with_all_full_names() -> None:
    found = Plugins()
    found.register("core", offering(stages={"core.reader": "x:Y"}))
    found.register("text", offering(stages={"text.reader": "x:Y"}))
    with pytest.raises(
        PluginError, match=r"'reader' \(did you mean core.reader or text.reader\?\)"
    ):
        found.stages.load("reader")


def test_an_executor_may_be_called_by_its_last_name_where_that_is_unique() -> None:
    found = Plugins()
    found.register(
        "core", offering(executors={"core.local": "curator_core.plan.executor:Executor"})
    )
    assert found.executors.load("local").__name__ == "Executor"
    with pytest.raises(
        PluginError, match=r"no executor named 'locl' \(did you mean core.local\?\)"
    ):
        found.executors.load("locl")
    found.register("acme", offering(executors={"acme.local": "x:Y"}))
    with pytest.raises(PluginError, match=r"'local' \(did you mean acme.local or core.local\?\)"):
        found.executors.load("local")


def test_a_stage_that_cannot_be_imported_names_its_owner_and_the_missing_module(
    folder: Path,
) -> None:
    (folder / "needy.py").write_text("import no_such_library")
    found = Plugins()
    places = {"acme.a": "needy:A", "acme.b": "curator_core.model.stages:Nothing"}
    found.register("acme", offering(stages=places), "acme-text", "1.5")
    with pytest.raises(
        PluginError,
        match=r"stage 'acme.a' of acme-text 1.5 does not load: needy:A: "
        r"No module named 'no_such_library'",
    ):
        found.stages.load("acme.a")
    with pytest.raises(
        PluginError, match=r"'curator_core.model.stages' has no attribute 'Nothing'"
    ):
        found.stages.load("acme.b")


def test_the_extra_to_install_is_named(folder: Path) -> None:
    metadata = (
        "Metadata-Version: 2.1\nName: acme-models\nVersion: 1.5\n"
        "Requires-Dist: click>=8\n"
        "Requires-Dist: no-such-library>=2; extra == 'models'\n"
        "Requires-Dist: pillow ; python_version > '3' and extra == \"pictures\"\n"
    )
    (folder / "acme_models-1.5.dist-info").mkdir()
    (folder / "acme_models-1.5.dist-info" / "METADATA").write_text(metadata)
    (folder / "needs_models.py").write_text("import no_such_library.inner")
    found = Plugins()
    found.register("m", offering(stages={"m.a": "needs_models:A"}), "acme-models", "1.5")
    with pytest.raises(PluginError, match=r"pip install 'acme-models\[models\]'"):
        found.stages.load("m.a")
    assert find_extra("PIL", "acme-models") == "pictures"
    assert find_extra("click", "acme-models") is None
    assert find_extra("torch", "not-installed") is None


def test_the_name_of_a_class() -> None:
    found = Plugins()
    found.register("core", offering(executors={"core.any": "curator_core:Executor"}))
    from curator_core import Executor, ProcessingStage

    assert found.executors.name_of(Executor) == "core.any"
    assert found.executors.name_of(ProcessingStage) is None


def fresh(code: str, **environment: str) -> str:
    run = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**_plain_environment(), **environment},
    )
    return run.stdout


def _plain_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "CURATOR_PLUGINS"}


def test_listing_every_stage_imports_nothing_heavy() -> None:
    printed = fresh(
        "import sys, curator_core; before = set(sys.modules)\n"
        "from curator_core.plugins.registry import plugins\n"
        "found = plugins(); found.to_json(); assert 'core.jsonl_reader' in list(found.stages)\n"
        "print(*set(sys.modules) - before)"
    )
    added = {name.partition(".")[0] for name in printed.split()} - sys.stdlib_module_names
    allowed = {name for name in added if name.startswith(("curator_", "_curator", "__editable"))}
    assert added - allowed <= {"pluggy"}
    heavy = {"pyarrow.dataset", "pyarrow.parquet", "numpy", "pandas", "torch", "ray", "pydantic"}
    assert not heavy & set(printed.split())


def test_yaml_and_pydantic_are_only_imported_when_a_recipe_is_read() -> None:
    printed = fresh("import sys, curator_cli.recipes; print(*sys.modules)").split()
    assert not {"yaml", "pydantic", "pydantic_core"} & set(printed)


SHOW = (
    "from curator_core.plugins.registry import plugins; f = plugins(); "
    "print(*[p.name for p in f.working])"
)


def test_the_environment_restricts_plugins_but_never_core() -> None:
    assert fresh(SHOW, CURATOR_PLUGINS="").split() == ["core"]
    assert "text" in fresh(SHOW, CURATOR_PLUGINS="text").split()


def test_the_environment_may_name_only_installed_plugins() -> None:
    printed = fresh(SHOW + "\nprint(f.broken[0])", CURATOR_PLUGINS="txet")
    assert (
        "plugin 'txet' is disabled: CURATOR_PLUGINS names it, but no such plugin is installed "
        "(did you mean text?)"
    ) in printed


@pytest.mark.parametrize("kind", ["stages", "executors"])
def test_a_package_of_ours_that_is_not_installed_is_named(kind: str) -> None:
    catalog = getattr(Plugins(), kind)
    for name, package in {
        "video.clip_writer": "curator-video",
        "ray_data": "curator-ray-data",
    }.items():
        with pytest.raises(PluginError) as caught:
            catalog.find(name)
        assert f"named {name!r}: " in str(caught.value)
        assert str(caught.value).endswith(f"pip install {package}")


def test_an_unknown_executor_is_pointed_to_those_on_ray_where_none_is_installed() -> None:
    catalog = Catalog("executor", short_names=True)
    catalog.add(Offer("core.local", "curator_core.local:LocalExecutor", "core"))
    with pytest.raises(PluginError, match=r"known: core\.local.*pip install curator-streaming"):
        catalog.find("ray")
    catalog.add(Offer("mine.threads", "mine:Threads", "mine"))
    with pytest.raises(PluginError) as caught:
        catalog.find("ray")
    assert "pip" not in str(caught.value)


def test_packages_of_others_are_not_suggested_for_installation() -> None:
    with pytest.raises(PluginError) as caught:
        Plugins().stages.find("someone.else")
    assert "pip" not in str(caught.value)
