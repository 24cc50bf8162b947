"""Plans: their fingerprint covers exactly what affects the output of a run."""

import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, dataclass, field, replace
from typing import Any

import pytest
from curator_core import DocumentBatch, ProcessingStage, Resources, Task, processing_stage
from curator_core.execution.run_stages import unchecked_plan
from curator_core.model.stages import AnyStage
from curator_core.plan.plan import stage_options, to_plain_data


@dataclass
class Limit(ProcessingStage[DocumentBatch, DocumentBatch]):
    at_most: int = 10
    words: frozenset[str] = frozenset({"b", "a"})
    notes: dict[str, Any] = field(default_factory=dict)
    secret: str = field(default="hidden", repr=False)


class Plain(ProcessingStage[DocumentBatch, DocumentBatch]):
    def __init__(self, language: str) -> None:
        self.language = language
        self._model = object()


def fingerprint(*stages: AnyStage) -> str:
    return unchecked_plan(stages, "fail").fingerprint


class TestFingerprint:
    def test_is_the_same_for_the_same_stages(self) -> None:
        assert fingerprint(Limit(5), Plain("de")) == fingerprint(Limit(5), Plain("de"))

    @pytest.mark.parametrize(
        "other",
        [
            [Limit(6), Plain("de")],
            [Limit(5), Plain("en")],
            [Plain("de"), Limit(5)],
            [Limit(5)],
            [Limit(5).with_(name="few"), Plain("de")],
            [Limit(5, frozenset({"a"})), Plain("de")],
        ],
    )
    def test_changes_with_every_option_that_affects_the_output(self, other: list[AnyStage]) -> None:
        assert fingerprint(*other) != fingerprint(Limit(5), Plain("de"))

    def test_does_not_change_with_speed(self) -> None:
        faster = Limit(5).with_(
            batch_size=9,
            resources=Resources(cpus=4),
            num_workers=3,
            timeout_s=1.0,
            retries=2,
            hints={"streaming": {"queue": 1}},
        )

        assert fingerprint(faster) == fingerprint(Limit(5))

    def test_changes_with_the_text_of_a_function(self) -> None:
        def made(body: Callable[[Task[int]], Task[int]]) -> AnyStage:
            return processing_stage(name="same")(body)

        def one(task: Task[int]) -> Task[int]:
            return task.with_data(task.data + 1)

        first = made(one)

        def one(task: Task[int]) -> Task[int]:  # type: ignore[no-redef]
            return task.with_data(task.data + 2)

        assert fingerprint(first) != fingerprint(made(one))

    def test_is_the_same_in_a_worker(self) -> None:
        plan = unchecked_plan([Limit(5)], "fail")

        assert pickle.loads(pickle.dumps(plan)).fingerprint == plan.fingerprint


class TestPlans:
    def test_cannot_be_changed(self) -> None:
        plan = unchecked_plan([Limit(5)], "fail")

        with pytest.raises(FrozenInstanceError):
            plan.name = "other"  # type: ignore[misc]
        with pytest.raises(FrozenInstanceError):
            plan.stages[0].batch_size = 2  # type: ignore[misc]
        assert replace(plan, name="other").stages == plan.stages

    def test_describe_themselves_as_plain_data(self) -> None:
        [stage] = unchecked_plan([Limit(5)], "fail").describe()

        assert stage["name"] == "limit"
        assert stage["stage"].endswith("test_plan:Limit")
        assert stage["options"] == {"at_most": 5, "notes": {}, "words": ["a", "b"]}


class TestOptions:
    def test_of_a_plain_class_are_its_public_attributes(self) -> None:
        assert stage_options(Plain("de").with_(batch_size=3)) == {"language": "de"}

    @pytest.mark.parametrize(
        ("value", "result"),
        [
            ((1, "a"), [1, "a"]),
            ({2: {"b", "a"}}, {"2": ["a", "b"]}),
            (Resources(cpus=2).cpus, 2),
            (object(), "builtins:object"),
            (len, "builtins:len"),
        ],
    )
    def test_are_described_as_json(self, value: object, result: object) -> None:
        assert to_plain_data(value) == result

    def test_of_a_nested_dataclass_name_its_type(self) -> None:
        result = to_plain_data(Limit(1))

        assert (result["type"], result["at_most"]) == ("Limit", 1)
