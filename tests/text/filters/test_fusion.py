"""Fused rules: the results, counts and records of a run are those of single rules."""

import json
import pickle
import subprocess
import sys
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import pytest
from curator_core import DocumentBatch, LocalExecutor, Pipeline
from curator_core.model.policies import ErrorPolicy
from curator_core.model.records import QuarantineRecord, StageCounts
from curator_core.plan.fusion import fuse
from curator_core.plan.plan import Plan, PlannedStage
from curator_core.testing import run_stages
from curator_text import (
    C4QualityFilter,
    ColumnFilter,
    DocumentText,
    JsonlReader,
    JsonlWriter,
    NumbersFilter,
    Score,
    TextFilter,
    UrlsFilter,
    WordCountFilter,
)
from curator_text.filters.fusion import FilteredBatch, FusedTextRules


@dataclass
class Fragile(TextFilter):
    poison: str = "bad"
    reason = "too short"

    def score(self, text: DocumentText) -> float:
        if self.poison in text:
            raise ValueError(f"cannot read {str(text)!r}")
        return len(text)

    def keeps(self, score: float) -> bool:
        return score > 1


TEXTS: list[str | None] = [
    "one two three", "x", "bad", "4 5", None, "  ", "one 2", "y", "poison here", "a b c d", "77777",
]  # fmt: skip
RECORDS = [{"id": f"r{number}", "text": text} for number, text in enumerate(TEXTS)]


def rules() -> list[Any]:
    return [
        Fragile(),
        Score(str.upper, "loud", score_type="string"),
        WordCountFilter(2, score_field="words"),
        Fragile("poison").with_(name="other"),
        NumbersFilter(0.3, invert=False),
    ]


def steps_for(*stages: Any) -> tuple[PlannedStage, ...]:
    planned = (
        PlannedStage.of(i, stage, ErrorPolicy(timeout_s=stage.timeout_s))
        for i, stage in enumerate(stages)
    )
    return fuse(Plan("p", tuple(planned))).steps


def names_of_steps(*stages: Any) -> list[list[str]]:
    return [[part.name for part in step.parts] for step in steps_for(*stages)]


class TestPlan:
    def test_neighbours_over_one_column_are_fused(self) -> None:
        assert names_of_steps(WordCountFilter(), UrlsFilter(), NumbersFilter()) == [
            ["word_count_filter", "urls_filter", "numbers_filter"]
        ]

    def test_a_fused_step_keeps_the_number_and_name_of_its_first_stage(self) -> None:
        _, step = steps_for(JsonlWriter("out"), WordCountFilter(), UrlsFilter())
        assert (step.index, step.name) == (1, "word_count_filter")
        assert [part.index for part in step.parts] == [1, 2]
        assert isinstance(step.stage, FusedTextRules)

    @pytest.mark.parametrize(
        "other",
        [
            UrlsFilter(text_field="title"),
            UrlsFilter().with_(num_workers=2),
            UrlsFilter().with_(timeout_s=1.0),
            UrlsFilter().with_(fuse=False),
            C4QualityFilter(),
            ColumnFilter(len),
        ],
        ids=lambda stage: f"{stage.name} {sorted(vars(stage))[-1]}",
    )
    def test_other_stages_are_not_fused(self, other: Any) -> None:
        steps = steps_for(WordCountFilter(), other)
        assert [len(step.parts) for step in steps] == [1, 1]

    def test_editing_rule_starts_a_new_step(self) -> None:
        assert names_of_steps(WordCountFilter(), C4QualityFilter(), UrlsFilter()) == [
            ["word_count_filter"],
            ["c4_quality_filter", "urls_filter"],
        ]

    def test_rule_with_its_own_process_is_not_fused(self) -> None:
        class Own(WordCountFilter):
            def process(self, task: DocumentBatch) -> Any:
                return task

        assert [len(step.parts) for step in steps_for(WordCountFilter(), Own(), Own())] == [1, 1, 1]

    def test_fuse_false_switches_fusion_off(self) -> None:
        pipeline = Pipeline("p", stages=[WordCountFilter(), UrlsFilter()], fuse=False)
        batch = [DocumentBatch.from_pylist(RECORDS)]
        assert len(pipeline.build(tasks=batch).steps) == 2
        assert len(replace(pipeline, fuse=True).build(tasks=batch).steps) == 1

    def test_fusion_does_not_change_the_fingerprint(self) -> None:
        pipeline = Pipeline("p", stages=[WordCountFilter(), UrlsFilter()])
        batch = [DocumentBatch.from_pylist(RECORDS)]
        plain = replace(pipeline, fuse=False).build(tasks=batch)
        assert pipeline.build(tasks=batch).fingerprint == plain.fingerprint


def counts_of(counts: StageCounts) -> dict[str, Any]:
    """Return counts without times and sizes, which are estimated between fused rules."""
    unstable = ("seconds", "bytes_in", "bytes_out")
    return {f.name: getattr(counts, f.name) for f in fields(counts) if f.name not in unstable}


def quarantined(records: list[QuarantineRecord]) -> list[tuple[Any, ...]]:
    found = []
    for one in records:
        rows = DocumentBatch.from_payload(one.subtask).to_pylist() if one.subtask else None
        at = (one.stage, one.stage_index, one.task_id, one.reason, one.where, one.subtask_id)
        found.append((*at, one.damaged, one.payload, rows))
    return found


class TestResults:
    def test_outputs_counts_and_quarantine_are_those_of_single_rules(self) -> None:
        runs = [
            run_stages(
                rules(),
                [DocumentBatch.from_pylist(RECORDS), DocumentBatch.from_pylist(RECORDS[:2])],
                on_error="quarantine",
                fuse=fuses,
            )
            for fuses in (True, False)
        ]
        fused, single = runs
        assert [task.to_pylist() for task in fused.outputs] == [  # type: ignore[attr-defined]
            task.to_pylist()  # type: ignore[attr-defined]
            for task in single.outputs
        ]
        for index in range(5):
            assert counts_of(fused.report.of(index)) == counts_of(single.report.of(index)), index
        assert sorted(map(str, fused.report.samples)) == sorted(map(str, single.report.samples))
        assert quarantined(fused.report.quarantined) == quarantined(single.report.quarantined)
        assert [one.stage for one in fused.report.quarantined] == ["fragile", "other"]
        assert fused.report.spent == single.report.spent

    def test_dropped_files_and_retries_are_those_of_single_rules(self, tmp_path: Path) -> None:
        (tmp_path / "in.jsonl").write_text("\n".join(map(json.dumps, RECORDS)))
        written = []
        for fuses in (True, False):
            folder = tmp_path / str(fuses)
            stages = [
                JsonlReader(str(tmp_path / "in.jsonl")),
                *rules(),
                JsonlWriter(str(folder / "kept"), dropped_path=str(folder / "dropped")),
            ]
            pipeline = Pipeline("p", stages=stages, max_failures=None, fuse=fuses)
            result = pipeline.run(LocalExecutor(0))
            assert {one.stage for one in result.quarantined} == {"fragile", "other"}
            again = pipeline.retry(result.run_dir or "", LocalExecutor(0))
            assert sorted(q.stage for q in again.quarantined) == ["fragile", "other"]
            written.append(
                {
                    str(path.relative_to(folder)): path.read_bytes()
                    for path in folder.rglob("*.jsonl")
                    if ".curator" not in path.parts
                }
            )
        assert written[0] == written[1]
        assert len(written[0]) > 1

    def test_failed_pass_is_repeated_rule_by_rule(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(self: object, task: object) -> None:
            raise MemoryError

        monkeypatch.setattr(FusedTextRules, "process_members", fail)
        done = run_stages([WordCountFilter(2), UrlsFilter()], [DocumentBatch.from_pylist(RECORDS)])
        assert done.report.of(0).items_dropped == 6
        assert done.report.of(1).items_in == 5


def test_filtered_batch_behaves_like_a_batch() -> None:
    batch = DocumentBatch.from_pylist(RECORDS, "name")
    [kept, *_], _ = FusedTextRules([WordCountFilter(2), UrlsFilter()]).process_members(batch)
    assert isinstance(kept, FilteredBatch)
    assert kept.num_items == 5
    assert kept.columns() == ("id", "text")
    assert 0 < kept.num_bytes < batch.num_bytes
    sent = pickle.loads(pickle.dumps(kept))
    assert type(sent) is type(kept.with_data(kept.data)) is DocumentBatch
    assert sent.to_pylist() == kept.to_pylist()
    assert sent.dataset_name == "name"


RECIPE = """
name: rules
input: {stage: text.jsonl_reader, file_paths: in.jsonl}
steps:
  - stage: text.word_count_filter
  - stage: text.urls_filter
output: {stage: text.jsonl_writer, path: out}
"""


def test_curate_plan_shows_fusion_and_recipes_switch_it_off(tmp_path: Path) -> None:
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    (tmp_path / "in.jsonl").write_text('{"text": "a"}')
    command = [sys.executable, "-m", "curator_cli", "plan", "recipe.yaml", "--json"]
    found = []
    for options in ([], ["--set", "run.fuse=false"]):
        done = subprocess.run(
            [*command, *options], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        found.append(json.loads(done.stdout)["fused"])
    assert found == [[["word_count_filter", "urls_filter"]], []]
