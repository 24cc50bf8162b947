"""The facts about a run in its directory."""

import json
from pathlib import Path
from typing import Any, ClassVar

import pytest
from curator_core import LocalExecutor, Pipeline, RunResult
from curator_core.io.readers import JsonlReader
from curator_core.io.writers import JsonlWriter
from curator_core.model.secrets import Secret
from curator_core.run.directory import RunDirectory, differences, run_token
from jobkit import write_records
from runkit import Judge, words_pipeline, write_inputs

HERE = LocalExecutor(workers=0)


def facts_of(folder: Path, name: str = "words") -> dict[str, Any]:
    facts: dict[str, Any] = json.loads((folder / f"out/.curator/{name}/run.json").read_text())
    return facts


def run(folder: Path) -> RunResult:
    return words_pipeline(folder).run(HERE)


class TestFacts:
    def test_the_facts_describe_the_run_and_its_end(self, tmp_path: Path) -> None:
        write_inputs(tmp_path, ["a", "bad"])
        result = run(tmp_path)
        facts = facts_of(tmp_path)
        assert (facts["name"], facts["status"]) == ("words", "done")
        assert facts["executor"] == "LocalExecutor"
        assert facts["ended"] >= facts["started"]
        assert facts["result"] == result.to_json()
        assert {"curator-core", "curator-text"} <= facts["packages"].keys()
        assert [stage["name"] for stage in facts["plan"]] == list(result.stages)

    def test_a_run_with_nothing_left_to_do_keeps_the_usage(self, tmp_path: Path) -> None:
        write_inputs(tmp_path, ["a", "b"])
        run(tmp_path)
        usages = facts_of(tmp_path)["result"]["usages"]
        assert run(tmp_path).sources_done == 0
        assert usages
        assert facts_of(tmp_path)["result"]["usages"] == usages

    def test_a_run_that_failed(self, tmp_path: Path) -> None:
        write_inputs(tmp_path, ["a", "bad"])
        pipeline = words_pipeline(tmp_path)
        with pytest.raises(Exception, match="cannot judge bad"):
            pipeline.run(HERE, on_error="fail")
        assert facts_of(tmp_path)["status"] == "failed"
        assert facts_of(tmp_path)["result"]["sources_done"] == 1

    def test_a_stream_that_was_closed(self, tmp_path: Path) -> None:
        write_inputs(tmp_path, ["a", "b"])
        with words_pipeline(tmp_path).stream(HERE) as stream:
            next(stream)
        assert facts_of(tmp_path)["status"] == "closed"
        assert run(tmp_path).sources_skipped == 1

    def test_a_stream_that_was_never_begun_holds_nothing(self, tmp_path: Path) -> None:
        write_inputs(tmp_path, ["a", "b"])
        words_pipeline(tmp_path).stream(HERE).close()
        assert run(tmp_path).sources_done == 2

    def test_an_error_of_the_caller_closes_the_run(self, tmp_path: Path) -> None:
        write_inputs(tmp_path, ["a", "b"])
        with pytest.raises(ZeroDivisionError), words_pipeline(tmp_path).stream(HERE) as stream:
            raise ZeroDivisionError(next(stream))
        assert facts_of(tmp_path)["status"] == "closed"

    def test_secrets_are_nowhere_in_it(self, tmp_path: Path) -> None:
        write_records(tmp_path, 2, 1)
        password = Secret("hunter2hunter2", "${secret:PASSWORD}", {"hunter2hunter2": "${secret:P}"})
        options = {"key": "AKIA-not-for-you", "secret": "open-sesame"}
        stages = [
            JsonlReader(str(tmp_path / "in"), storage_options=options),
            Suspicious(password),
            JsonlWriter(str(tmp_path / "out"), storage_options=options),
        ]
        pipeline = Pipeline("job", stages=stages, max_failures=None)
        pipeline.recipe = f"password: {password}"
        assert len(pipeline.run(HERE).quarantined) == 2
        written = [path for path in (tmp_path / "out/.curator/job").rglob("*") if path.is_file()]
        assert len(written) >= 6
        for path in written:
            for secret in ("hunter2", "AKIA-not-for-you", "open-sesame"):
                assert secret not in path.read_text(), path


class Suspicious(Judge):
    """Has secrets in its error message."""

    def __init__(self, password: str) -> None:
        self.password = password

    def process(self, task: Any) -> Any:
        raise ValueError(f"{self.password} was not accepted")


class TestDirectories:
    def test_nothing_yet(self, tmp_path: Path) -> None:
        assert RunDirectory(str(tmp_path)).facts() is None
        assert RunDirectory(str(tmp_path)).recipe() == ""

    def test_facts_and_recipe_come_back(self, tmp_path: Path) -> None:
        directory = RunDirectory(str(tmp_path))
        directory.write({"name": "words"})
        directory.keep_recipe("name: words\n")
        assert directory.facts() == {"name": "words"}
        assert directory.recipe() == "name: words\n"
        directory.forget()
        assert directory.facts() is None

    def test_each_has_its_own_token(self, tmp_path: Path) -> None:
        here = run_token(str(tmp_path))
        assert here == run_token(f"{tmp_path}/") == run_token(f"file://{tmp_path}")
        assert here != run_token(str(tmp_path / "other"))


class TestDifferences:
    stage: ClassVar = {"name": "a", "stage": "m:A", "options": {"x": 1, "y": [1, 2]}}

    def test_options(self) -> None:
        other = {**self.stage, "options": {"y": [1], "z": None}}
        assert differences([self.stage], [other]) == [
            "stage 'a': x 1 became None",
            "stage 'a': y [1, 2] became [1]",
        ]

    def test_options_within_an_option(self) -> None:
        before = {**self.stage, "options": {"x": {"y": 1, "z": {"w": 2}, "v": 3}}}
        after = {**self.stage, "options": {"x": {"y": 1, "z": {"w": 4}}}}
        assert differences([before], [after]) == [
            "stage 'a': x.v 3 became None",
            "stage 'a': x.z.w 2 became 4",
        ]

    def test_another_class(self) -> None:
        other = {**self.stage, "stage": "m:B"}
        assert differences([self.stage], [other]) == ["stage 'a': m:A became m:B"]

    def test_another_order(self) -> None:
        second = {**self.stage, "name": "b"}
        assert differences([self.stage, second], [second, self.stage]) == [
            "the stages are in another order"
        ]
