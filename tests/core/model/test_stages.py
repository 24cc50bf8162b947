"""Stages: invalid classes, changed copies, composites."""

from collections.abc import Sequence
from dataclasses import FrozenInstanceError, dataclass
from typing import Any

import pytest
from curator_core import CompositeStage, DocumentBatch, FileGroup, ProcessingStage, Resources, Task
from curator_core.model.stages import AnyStage, flatten, snake_case
from hypothesis import given
from hypothesis import strategies as st

Documents = ProcessingStage[DocumentBatch, DocumentBatch]


class Read(ProcessingStage[FileGroup, DocumentBatch]):
    pass


@dataclass
class Limit(Documents):
    at_most: int = 10


@dataclass(frozen=True)
class Frozen(Documents):
    at_most: int = 10


class Batched(Documents):
    batch_size = 8

    def process_batch(self, tasks: Sequence[DocumentBatch]) -> list[DocumentBatch]:
        return list(tasks)


class TestNames:
    @pytest.mark.parametrize(
        ("name", "snake"),
        [
            ("WordCount", "word_count"),
            ("HTMLExtractor", "html_extractor"),
            ("JsonlReader", "jsonl_reader"),
            ("Utf8Reader", "utf8_reader"),
            ("Lower", "lower"),
        ],
    )
    def test_follow_from_the_class(self, name: str, snake: str) -> None:
        assert snake_case(name) == snake

    def test_are_not_inherited(self) -> None:
        class Base(Documents):
            name = "base"

        class Special(Base):
            pass

        assert (Base().name, Special().name) == ("base", "special")


class TestTypes:
    def test_are_read_from_the_class(self) -> None:
        assert (Read.input_type, Read.output_type) == (FileGroup, DocumentBatch)

    def test_are_inherited(self) -> None:
        class ReadFast(Read):
            pass

        assert (ReadFast.input_type, ReadFast.output_type) == (FileGroup, DocumentBatch)

    def test_may_say_what_the_payload_is(self) -> None:
        class Numbers(ProcessingStage[Task[int], Task[list[int]]]):
            pass

        assert (Numbers.input_type, Numbers.output_type) == (Task, Task)


class TestClassCreation:
    @pytest.mark.parametrize("setting", ["resources", "batch_size", "name", "on_error", "retries"])
    def test_refuses_a_setting_that_is_a_property(self, setting: str) -> None:
        body = {setting: property(lambda self: 1)}

        with pytest.raises(TypeError, match=f"Odd.{setting} is a property, but must be a plain"):
            type("Odd", (ProcessingStage,), body)

    def test_refuses_num_workers_as_a_method(self) -> None:
        with pytest.raises(TypeError, match=r"must be a method: def num_workers\(self\) -> int"):

            class Odd(Documents):
                num_workers = 3  # type: ignore[assignment]

    def test_a_stage_that_does_nothing_says_so(self) -> None:
        with pytest.raises(NotImplementedError, match="Read defines neither process nor process_b"):
            Read().process(FileGroup([]))

    def test_process_batch_alone_is_enough(self) -> None:
        assert Batched().works_on_batches
        assert not Limit().works_on_batches


class TestWith:
    def test_changes_a_copy(self) -> None:
        stage = Limit(5)
        changed = stage.with_(
            name="few",
            resources=Resources(cpus=2),
            batch_size=3,
            num_workers=2,
            runtime_env={"pip": ["x"]},
            on_error="skip",
            retries=4,
            timeout_s=9.0,
            hints={"streaming": {"queue": 3}},
        )

        assert (changed.at_most, changed.name, changed.resources.cpus) == (5, "few", 2)
        assert (changed.batch_size, changed.requested_workers, changed.on_error) == (3, 2, "skip")
        assert (changed.retries, changed.timeout_s) == (4, 9.0)
        assert changed.hints == {"streaming": {"queue": 3}}
        assert changed.runtime_env == {"pip": ["x"]}
        assert vars(stage) == {"at_most": 5}
        assert (stage.name, stage.requested_workers) == ("limit", None)

    def test_can_be_repeated(self) -> None:
        changed = Limit().with_(batch_size=3, num_workers=2).with_(batch_size=4)

        assert (changed.batch_size, changed.requested_workers) == (4, 2)

    def test_works_on_frozen_stages(self) -> None:
        changed = Frozen(5).with_(name="few", num_workers=1)

        assert (changed.name, changed.requested_workers, changed.at_most) == ("few", 1, 5)
        with pytest.raises(FrozenInstanceError):
            changed.at_most = 6  # type: ignore[misc]

    def test_refuses_what_it_does_not_change(self) -> None:
        with pytest.raises(
            TypeError,
            match=r"with_\(\) cannot change at_most, batchsize of stage 'limit'; it changes batch_",
        ):
            Limit().with_(batchsize=3, at_most=1)

    def test_hands_num_workers_back_to_the_executor(self) -> None:
        class Two(Documents):
            def num_workers(self) -> int | None:
                return 2

        assert Two().requested_workers == 2
        assert Two().with_(num_workers=None).requested_workers is None


class ReadAndLimit(CompositeStage[FileGroup, DocumentBatch]):
    def decompose(self) -> list[AnyStage]:
        return [Read(), Limit(3)]


class Everything(CompositeStage[FileGroup, DocumentBatch]):
    def decompose(self) -> list[AnyStage]:
        return [ReadAndLimit(), Batched().with_(batch_size=2)]


class TestComposites:
    def test_may_nest(self) -> None:
        flat = flatten([Everything(), Limit(1)])

        assert [stage.name for stage in flat] == ["read", "limit", "batched", "limit"]

    def test_pass_changed_settings_to_their_parts(self) -> None:
        flat = flatten([Everything().with_(on_error="skip", retries=1, num_workers=2)])

        assert {(s.on_error, s.retries, s.requested_workers) for s in flat} == {("skip", 1, 2)}

    def test_leave_other_settings_to_their_parts(self) -> None:
        flat = flatten([Everything().with_(retries=1)])

        assert [stage.batch_size for stage in flat] == [1, 1, 2]

    def test_keep_their_name_to_themselves(self) -> None:
        flat = flatten([ReadAndLimit().with_(name="web")])

        assert [stage.name for stage in flat] == ["read", "limit"]

    def test_without_parts_say_so(self) -> None:
        class Hollow(CompositeStage[FileGroup, DocumentBatch]):
            pass

        with pytest.raises(NotImplementedError, match="Hollow does not define decompose"):
            flatten([Hollow()])

    @given(st.recursive(st.integers(0, 9), lambda inner: st.lists(inner, max_size=3)))
    def test_decompose_in_order_however_they_nest(self, tree: Any) -> None:
        assert [stage.at_most for stage in flatten([_stage_of(tree)])] == _leaves(tree)


@dataclass
class Nested(CompositeStage[DocumentBatch, DocumentBatch]):
    tree: list[Any]

    def decompose(self) -> list[AnyStage]:
        return [_stage_of(part) for part in self.tree]


def _stage_of(tree: Any) -> AnyStage:
    return Nested(tree) if isinstance(tree, list) else Limit(tree)


def _leaves(tree: Any) -> list[int]:
    return [leaf for part in tree for leaf in _leaves(part)] if isinstance(tree, list) else [tree]


class TestColumns:
    def test_grow_by_the_declared_columns(self) -> None:
        class Adds(Documents):
            def outputs(self) -> list[str]:
                return ["lang"]

        assert Adds().columns_after(frozenset({"text"})) == {"text", "lang"}
        assert Adds().columns_after(None) is None
