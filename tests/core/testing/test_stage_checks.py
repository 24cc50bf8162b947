"""The testing kit: each faulty stage below breaks one promise, and the error names it."""

import random
import threading
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from curator_core import (
    CompositeStage,
    DocumentBatch,
    Dropped,
    FileGroup,
    Mixed,
    ProcessingStage,
    StageError,
    Task,
    WorkerInfo,
)
from curator_core.testing import (
    check_stage,
    in_fresh_interpreter,
    modules_loaded_by,
    run_stage,
    run_stages,
    seconds_to_run,
)
from curator_core.testing.comparison import is_deeply_equal

Documents = ProcessingStage[DocumentBatch, DocumentBatch]


def sample(*texts: str) -> DocumentBatch:
    rows = [{"text": text, "url": f"u{i}"} for i, text in enumerate(texts or ("One", "Two", ""))]
    return DocumentBatch.from_pylist(rows, "web")


SPIN = "import time\nuntil = time.process_time() + 0.03\nwhile time.process_time() < until: pass"


class Lowercase(Documents):
    def inputs(self) -> list[str]:
        return ["text"]

    def outputs(self) -> list[str]:
        return ["lower"]

    def process(self, task: DocumentBatch) -> DocumentBatch:
        lower = [str(text).lower() for text in task.data["text"].to_pylist()]
        return task.with_data(task.data.append_column("lower", pa.array(lower, pa.string())))


@dataclass
class KeepLong(Documents):
    at_least: int = 1

    def inputs(self) -> list[str]:
        return ["text"]

    def process(self, task: DocumentBatch) -> list[DocumentBatch | Dropped]:
        texts = task.data["text"].to_pylist()
        return task.keep([len(text) >= self.at_least for text in texts], "too short")


class JoinAll(Documents):
    batch_size = 4

    def process_batch(self, tasks: Sequence[DocumentBatch]) -> Mixed[DocumentBatch]:
        return Mixed([DocumentBatch(pa.concat_tables([task.data for task in tasks]))])


class ListThenLower(CompositeStage[DocumentBatch, DocumentBatch]):
    def decompose(self) -> list[Documents]:
        return [KeepLong(1), Lowercase()]


class TestRunStage:
    def test_returns_the_outputs_of_a_worker(self) -> None:
        [output] = run_stage(Lowercase(), sample("ABC"))

        assert output.data["lower"].to_pylist() == ["abc"]
        assert output.dataset_name == "web"

    def test_follows_the_life_of_a_worker(self) -> None:
        calls: list[str] = []

        class Reported(ProcessingStage[Task[Any], Task[Any]]):
            def setup_on_node(self, node: object) -> None:
                calls.append("node")

            def setup(self, worker: WorkerInfo) -> None:
                calls.append("setup")

            def process(self, task: Task[Any]) -> None:
                calls.append("process")

            def teardown(self) -> None:
                calls.append("teardown")

        run_stage(Reported(), Task(1), Task(2))

        assert calls == ["node", "setup", "process", "process", "teardown"]

    def test_shows_a_failure_and_still_tears_down(self) -> None:
        ended: list[bool] = []

        class Fails(ProcessingStage[Task[Any], Task[Any]]):
            on_error = "quarantine"

            def process(self, task: Task[Any]) -> None:
                raise ValueError("no good")

            def teardown(self) -> None:
                ended.append(True)

        with pytest.raises(StageError, match="stage 'fails' failed: ValueError: no good"):
            run_stage(Fails(), Task(1))
        assert ended == [True]

    def test_does_not_change_the_callers_tasks(self) -> None:
        task = sample("A")

        run_stage(KeepLong(1), task)

        assert task.task_id == ""
        assert task.timings == {}

    def test_returns_the_counts_too(self) -> None:
        ran = run_stages([KeepLong(2), Lowercase()], [sample("long", "x", "y"), sample("z")])

        assert [task.num_items for task in ran.outputs] == [1]
        assert ran.counts.reasons == {"too short": 3}
        assert ran.report.of(1).tasks_in == 1
        assert sorted(ran.report.spent.values()) == [Fraction(1, 2), 1]  # half stays with the call

    def test_runs_a_composite_whole(self) -> None:
        [output] = run_stage(ListThenLower(), sample("ABC", ""))

        assert output.to_pylist() == [{"text": "ABC", "url": "u0", "lower": "abc"}]

    def test_returns_nothing_for_no_tasks(self) -> None:
        assert run_stage(Lowercase()) == []

    def test_interrupts_calls_that_take_too_long(self) -> None:
        class Hangs(ProcessingStage[Task[Any], Task[Any]]):
            timeout_s = 0.05
            retries = 0

            def process(self, task: Task[Any]) -> None:
                threading.Event().wait(20)

        with pytest.raises(StageError, match=r"took longer than its timeout_s of 0\.05 s"):
            run_stage(Hangs(), Task(1))


class TestInnocentStages:
    @pytest.mark.parametrize(
        "stage", [Lowercase(), KeepLong(2), JoinAll(), ListThenLower()], ids=lambda s: s.name
    )
    def test_pass(self, stage: Documents) -> None:
        check_stage(stage, sample(), sample("four", "five"))

    def test_pass_with_nan_in_the_table(self) -> None:
        table = pa.table({"text": ["a"], "score": [float("nan")]})

        check_stage(Lowercase(), DocumentBatch(table))

    def test_pass_on_tasks_without_columns(self) -> None:
        class Split(ProcessingStage[FileGroup, FileGroup]):
            def process(self, task: FileGroup) -> Iterator[FileGroup]:
                for path in task.paths:
                    yield FileGroup.of([path])

        check_stage(Split(), FileGroup.of(["a", "b"]))


class NeedsALock(Lowercase):
    def __init__(self) -> None:
        self.lock = threading.Lock()


class Forgets(Lowercase):
    def __init__(self, model: str) -> None:
        self.model = model

    def __getstate__(self) -> dict[str, str]:
        return {"model": "default"}


class ChangesData(ProcessingStage[Task[list[int]], Task[list[int]]]):
    def process(self, task: Task[list[int]]) -> Task[list[int]]:
        task.data.append(1)
        return task


class ReplacesData(Documents):
    def process(self, task: DocumentBatch) -> DocumentBatch:
        task.data = task.data.slice(0, 1)
        return task


class ChangesMetadata(Documents):
    def process(self, task: DocumentBatch) -> DocumentBatch:
        task.metadata["seen"] = True
        return task


class ReadsInSecret(Lowercase):
    def process(self, task: DocumentBatch) -> DocumentBatch:
        task.data["url"]
        return super().process(task)


class AddsInSecret(Lowercase):
    def outputs(self) -> list[str]:
        return []


class AddsLessThanItSays(Lowercase):
    def outputs(self) -> list[str]:
        return ["lower", "upper"]


class TakesAway(Documents):
    def inputs(self) -> list[str]:
        return ["url"]

    def process(self, task: DocumentBatch) -> DocumentBatch:
        return task.with_data(task.data.drop_columns(["url"]))


class FearsEmptiness(Lowercase):
    def process(self, task: DocumentBatch) -> DocumentBatch:
        task.data["text"][0]
        return super().process(task)


class WithChangesItself(Lowercase):
    def with_(self, **changes: Any) -> "WithChangesItself":
        vars(self).update(changes)
        return self


class WithIsDeaf(Lowercase):
    def with_(self, **changes: Any) -> "WithIsDeaf":
        return copy(self)


class LosesOne(Documents):
    batch_size = 8

    def process_batch(self, tasks: Sequence[DocumentBatch]) -> list[DocumentBatch]:
        return list(tasks[:1])


class MixesInSecret(Documents):
    batch_size = 8

    def process_batch(self, tasks: Sequence[DocumentBatch]) -> list[DocumentBatch]:
        first = tasks[0].data
        return [task.with_data(first) for task in tasks]


class Random(Documents):
    def process(self, task: DocumentBatch) -> DocumentBatch:
        return DocumentBatch.from_pylist([{"text": random.random()} for _ in range(3)])

    def columns_after(self, before: frozenset[str] | None) -> frozenset[str] | None:
        return frozenset({"text"})


class Counts(Documents):
    """Its second output differs from its first."""

    seen = 0

    def process(self, task: DocumentBatch) -> list[DocumentBatch]:
        self.seen += 1
        return [task] * self.seen


@dataclass
class DiesForGood(Lowercase):
    parts: list[int] = field(default_factory=lambda: [1])

    def setup(self, worker: WorkerInfo) -> None:
        self.parts.pop()


class NeedsATask(Lowercase):
    def process(self, task: DocumentBatch) -> DocumentBatch:
        self.model = "loaded late"
        return super().process(task)

    def teardown(self) -> None:
        del self.model


class CannotEnd(Lowercase):
    seen = False

    def process(self, task: DocumentBatch) -> DocumentBatch:
        self.seen = True
        return super().process(task)

    def teardown(self) -> None:
        if self.seen:
            raise OSError("still in use")


class GivesAnotherType(Documents):
    def process(self, task: DocumentBatch) -> Any:
        return FileGroup.of(["a"])


class Misconfigured(Lowercase):
    def check(self) -> list[str]:
        return ["at_least is above at_most"]


class FailsAlways(Documents):
    def process(self, task: DocumentBatch) -> DocumentBatch:
        raise KeyError("language")


class GuiltyPart(CompositeStage[DocumentBatch, DocumentBatch]):
    def decompose(self) -> list[Documents]:
        return [KeepLong(1), AddsInSecret()]


class DropsAllFirst(CompositeStage[DocumentBatch, DocumentBatch]):
    def decompose(self) -> list[Documents]:
        return [KeepLong(1000), Lowercase()]


GUILTY: list[tuple[ProcessingStage[Any, Any], str]] = [
    (NeedsALock(), r"cannot be pickled, .*; create such objects in setup\(\): TypeError"),
    (Forgets("large"), r"loses its option model in pickling: 'large' became 'default'"),
    (ReplacesData(), r"changes the data of the task it is given"),
    (ChangesMetadata(), r"changes the metadata of the task it is given"),
    (ReadsInSecret(), r"reads columns that inputs\(\) does not declare: url"),
    (AddsInSecret(), r"adds columns that outputs\(\) does not declare: lower"),
    (AddsLessThanItSays(), r"declares columns in outputs\(\) that it does not add: upper"),
    (TakesAway(), r"removes columns that columns_after\(\) still lists: url"),
    (FearsEmptiness(), r"IndexError: .*on a task with nothing in it"),
    (WithChangesItself(), r"is changed by with_\(\)"),
    (WithIsDeaf(), r"ignores what with_\(\) sets: name, batch_size, num_workers"),
    (LosesOne(), r"returned 1 results for 2 tasks from process_batch"),
    (MixesInSecret(), r"makes something else of a task among others than of the same task alone"),
    (Random(), r"gives something else when it runs over the same tasks again"),
    (Counts(), r"gives something else when it runs over the same tasks again"),
    (DiesForGood(), r"fails when it is set up again after teardown\(\): .*pop from empty list"),
    (NeedsATask(), r"fails in a worker that gets no task.*AttributeError"),
    (CannotEnd(), r"fails in a worker that was given the samples.*OSError: still in use"),
    (GivesAnotherType(), r"gives a FileGroup, but says that it gives DocumentBatch"),
    (Misconfigured(), r"has invalid options: at_least is above at_most"),
    (FailsAlways(), r"failed: KeyError: 'language' \(.*\.py:\d+\) \(on a sample task\)"),
    (GuiltyPart(), r"^stage 'adds_in_secret' adds columns"),
    (DropsAllFirst(), r"stage 'lowercase' was given nothing: the part before it dropped every"),
]


class TestGuiltyStages:
    @pytest.mark.parametrize(("stage", "message"), GUILTY, ids=[s.name for s, _ in GUILTY])
    def test_are_named_with_their_fault(self, stage: Documents, message: str) -> None:
        with pytest.raises(AssertionError, match=f"(?s){message}"):
            check_stage(stage, sample("One", "Two"), sample("Three", ""))

    def test_are_found_where_the_payload_is_a_plain_list(self) -> None:
        with pytest.raises(AssertionError, match="'changes_data' changes the data of the task"):
            check_stage(ChangesData(), Task([1, 2]))

    def test_are_found_with_one_sample_too(self) -> None:
        with pytest.raises(AssertionError, match="returned 1 results for 2 tasks"):
            check_stage(LosesOne(), sample())

    def test_need_a_sample(self) -> None:
        with pytest.raises(TypeError, match=r"'lowercase'.*at least one sample task"):
            check_stage(Lowercase())


class TestAlike:
    @pytest.mark.parametrize(
        "value",
        [float("nan"), [float("nan")], {"a": (1, float("nan"))}, pa.array([float("nan")]), {1, 2}],
    )
    def test_a_value_is_like_its_equal(self, value: object) -> None:
        import copy as copying

        assert is_deeply_equal(value, copying.deepcopy(value))

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            (1, 1.0),
            ([1], [1, 2]),
            ({"a": 1}, {"b": 1}),
            (pa.array([1]), pa.array([1.0])),
            (pa.table({"a": [1]}), pa.table({"b": [1]})),
            (Task(1), Task(2)),
            (Task(1, "a"), Task(1, "b")),
        ],
    )
    def test_and_unlike_another(self, one: object, other: object) -> None:
        assert not is_deeply_equal(one, other)


class TestFreshInterpreters:
    def test_return_the_modules_that_were_loaded(self) -> None:
        loaded = modules_loaded_by("print('noise'); import json.tool")

        assert {"json", "json.tool"} <= loaded
        assert "curator_core" not in loaded

    def test_say_how_long_it_took(self) -> None:
        assert 0.02 <= seconds_to_run(SPIN, repeats=1) < 5
        assert seconds_to_run("import time; time.sleep(0.5)", repeats=1) < 0.4, (
            "it computes nothing"
        )

    def test_show_what_went_wrong(self) -> None:
        with pytest.raises(AssertionError, match="ZeroDivisionError"):
            in_fresh_interpreter("1 / 0")

    def test_the_kit_needs_no_pytest(self) -> None:
        code = "from curator_core.testing import check_stage, run_stage"

        assert "pytest" not in modules_loaded_by(code)
