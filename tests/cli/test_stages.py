"""`curate stages` and `curate workflows`: lists, searches and explanations."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml
from curator_cli.recipes.help import stage_help, workflow_help
from curator_cli.recipes.steps import load_stage
from curator_core.errors import PluginError
from curator_core.plugins.groups import GROUPS, group_of
from curator_core.plugins.registry import plugins
from curator_core.testing import modules_loaded_by

Curate = Callable[..., Any]


@pytest.fixture
def only_text(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As if only curator-core and curator-text were installed."""
    monkeypatch.setenv("CURATOR_PLUGINS", "text")
    plugins.cache_clear()
    yield
    plugins.cache_clear()


class TestList:
    def test_stages_are_listed_by_group(self, curate: Curate) -> None:
        lines = curate("stages").out.splitlines()
        titles = {
            group.name
            for group in GROUPS
            if any(one.startswith(f"{group.name}: ") for one in lines)
        }
        assert titles == {group.name for group in GROUPS}
        at = next(at for at, line in enumerate(lines) if line.startswith("filters: "))
        end = lines.index("", at)
        assert any("text.word_count_filter" in line for line in lines[at:end])
        assert not any("text.csv_reader" in line for line in lines[at:end])

    def test_stages_of_other_plugins_are_loaded_for_the_list(self, curate: Curate) -> None:
        rows = {row["name"]: row for row in curate("stages", "--json").json}
        assert rows["trial.long_enough"]["doc"] == "Drops short texts."
        assert rows["trial.long_enough"]["reads"] == ["text"]
        assert rows["trial.long_enough"]["owner"] == "curator-trial 1.2"

    def test_workflows_are_listed_by_group(self, curate: Curate) -> None:
        rows = {row["name"]: row for row in curate("workflows", "--json").json}
        assert rows["dedup.fuzzy"]["group"] == "deduplication"
        assert "trial.twice" in curate("workflows").out

    def test_every_stage_and_workflow_of_ours_has_a_group(self) -> None:
        names = [*plugins().stages, *plugins().workflows]
        assert [name for name in names if group_of(name).name == "other"] == []


class TestSearch:
    def test_stages_and_workflows_are_found(self, curate: Curate) -> None:
        found = curate("stages", "--search", "dedup", "--json").json["found"]
        names = {row["name"] for row in found}
        assert {"dedup.fuzzy", "dedup.bloom_deduplication", "image.deduplication"} <= names

    def test_a_search_loads_none_of_our_stages(self) -> None:
        loaded = modules_loaded_by(
            "from curator_cli.app import call; assert call(['stages', '--search', 'dedup']) == 0"
        )
        assert not loaded & {"torch", "numpy", "pyarrow", "pydantic", "curator_dedup.exact"}

    def test_stages_of_other_plugins_are_found_too(self, curate: Curate) -> None:
        assert "trial.long_enough" in curate("stages", "--search", "short texts").out

    def test_the_best_match_is_the_first(self, curate: Curate) -> None:
        lines = curate("stages", "--search", "language").out.splitlines()
        assert lines[0].startswith("text.language_filter ")
        assert "To explain one: curate stages text.language_filter" in lines

    def test_stages_that_are_not_installed_are_found_with_what_to_install(
        self, only_text: None, curate: Curate
    ) -> None:
        found = curate("stages", "--search", "recordings", "--json").json
        assert not any(row["name"].startswith("audio.") for row in found["found"])
        rows = {row["name"]: row for row in found["not_installed"]}
        assert rows["audio.audio_folder_reader"]["install"] == "pip install curator-audio"
        assert "pip install curator-audio" in curate("stages", "--search", "recordings").out

    def test_nothing_found_shows_similar_words(self, curate: Curate) -> None:
        result = curate("stages", "--search", "prplexity")
        assert result.code == 0
        assert "Nothing found for 'prplexity'." in result.out
        assert "Similar words: perplexity" in result.out
        assert curate("stages", "--search", "prplexity", "--json").json["found"] == []

    def test_a_name_and_a_search_at_once_are_refused(self, curate: Curate) -> None:
        result = curate("stages", "text.csv_reader", "--search", "csv")
        assert result.code == 2
        assert "not both" in result.err


class TestExplain:
    def test_one_stage_is_explained(self, curate: Curate) -> None:
        lines = [
            " ".join(line.split())
            for line in curate("stages", "trial.long_enough").out.splitlines()
        ]
        assert "package curator-trial 1.2" in lines
        assert "class curator_trial_stages:LongEnough" in lines
        assert "takes DocumentBatch, reads text" in lines
        assert "min_chars int 5 The fewest characters a text may have." in lines
        at = lines.index("In a recipe:")
        assert lines[at + 1 : at + 4] == ["steps:", "- stage: trial.long_enough", "min_chars: 5"]
        assert "from curator_trial_stages import LongEnough" in lines

    def test_one_stage_as_json(self, curate: Curate) -> None:
        described = curate("stages", "trial.long_enough", "--json").json
        assert described["options"][0] == {
            "name": "min_chars",
            "type": "int",
            "default": 5,
            "required": False,
            "doc": "The fewest characters a text may have.",
        }
        assert described["recipe"] == "steps:\n  - stage: trial.long_enough\n    min_chars: 5"

    def test_extras_are_shown_with_what_is_missing_here(
        self, curate: Curate, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(
            "curator_cli.recipes.help.missing_packages",
            lambda requirement: ["torch"] if requirement == "curator-text[models]" else [],
        )
        result = curate("stages", "text.quality_classifier")
        assert "pip install 'curator-text[models]' (not installed: torch)" in result.out
        [extra] = curate("stages", "text.quality_classifier", "--json").json["extras"]
        assert extra == {"requirement": "curator-text[models]", "missing": ["torch"]}

    def test_a_workflow_is_explained_too(self, curate: Curate) -> None:
        result = curate("stages", "dedup.fuzzy")
        assert result.code == 0
        assert "curate dedup fuzzy INPUT_PATH OUTPUT_PATH" in result.out

    def test_a_mistyped_stage(self, curate: Curate) -> None:
        result = curate("stages", "trial.long_enuogh")
        assert result.code == 2
        assert result.err == (
            "curate: no stage named 'trial.long_enuogh' (did you mean trial.long_enough?)\n"
        )


class TestSnippets:
    @pytest.mark.parametrize("name", list(plugins().stages))
    def test_a_snippet_of_a_stage_is_right(self, name: str) -> None:
        explained = stage_help(name)
        [(section, content)] = yaml.safe_load(explained.recipe).items()
        step = content[0] if section == "steps" else content
        assert step.pop("stage") == name
        assert set(step) <= {option.name for option in explained.options}
        assert {option.name for option in explained.options if option.required} <= set(step)
        names: dict[str, Any] = {}
        exec(explained.python, names)
        assert isinstance(names["stage"], load_stage(name, plugins()))

    @pytest.mark.parametrize("name", list(plugins().workflows))
    def test_a_snippet_of_a_workflow_names_its_options(self, name: str) -> None:
        explained = workflow_help(name)
        recipe = yaml.safe_load(explained.recipe)
        assert recipe["workflow"] == name
        assert set(recipe["options"]) <= {option.name for option in explained.options}


class TestUnknownNames:
    def load(self, name: str) -> str:
        with pytest.raises(PluginError) as refused:
            plugins().stages.load(name)
        return str(refused.value)

    def test_words_of_the_name_are_searched(self) -> None:
        message = self.load("text.remove_personal_data")
        assert "text.pii_redactor" in message
        assert "curate stages --search 'remove personal data'" in message

    def test_a_workflow_in_place_of_a_stage(self) -> None:
        assert "write `workflow: dedup.fuzzy`" in self.load("dedup.fuzzy")

    def test_a_function_in_place_of_a_stage(self) -> None:
        assert "`python: FILE.py:FUNCTION`" in self.load("my_rules:no_fox")

    def test_a_stage_of_a_package_that_is_not_installed(self, only_text: None) -> None:
        assert "pip install curator-audio" in self.load("loudness_filter")

    def test_a_misspelt_name(self) -> None:
        assert self.load("text.wrod_count_filter").endswith(
            "(did you mean text.word_count_filter?)"
        )
